// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "probe/launcher.h"
#include "probe/target.h"

/// What the daemon and the driver-free parent of a worker say to each other.
///
/// On a Unix socket that keeps messages apart (SOCK_SEQPACKET), each one JSON object. The daemon
/// says one thing, the target, and hands over two descriptors with it: where the frames go, and
/// where stdout and stderr go. The worker's parent answers `started` and, when the worker has
/// ended, `ended`. The daemon ends a worker by ending its own half of the connection.
namespace gpuprobe::inline probe {

constexpr Bytes kMaxRequest = kib(64);  ///< two paths, and what JSON makes of them
constexpr Bytes kMaxNotice = kib(1);
constexpr std::size_t kRequestDescriptors = 2;  ///< frames, output

RECORD_MEMBERS(ProbeTarget, api, driver, library, stage, device)

enum class WorkerEvent { Started, Ended };
constexpr std::array<EnumName<WorkerEvent>, 2> names_of(WorkerEvent) {
    return {{{WorkerEvent::Started, "started"}, {WorkerEvent::Ended, "ended"}}};
}

struct WorkerNotice {
    WorkerEvent event = WorkerEvent::Started;
    WorkerExit exit = {};  ///< of one that has ended
};
RECORD_MEMBERS(WorkerNotice,
               event,
               ("code", exit.code),
               ("signal", exit.signal),
               ("processor_time", exit.processor_time),
               ("peak_memory", exit.peak_memory))

struct Message {
    std::string text = {};
    std::vector<UniqueFd> descriptors = {};  ///< close-on-exec
};

/// Errors: Unavailable, with the reason; it does not block on a non-blocking socket.
Status send_message(int socket, std::string_view text, std::span<const int> descriptors = {});

/// The next message; nullopt when none is there yet. Errors: Unavailable when the other side has
/// gone; TooLarge over `limit`; Malformed with more than `descriptors`, all of which are closed.
Result<std::optional<Message>> receive_message(int socket, Bytes limit, std::size_t descriptors);

/// Who is at the other end: who connected or, for the one that connected, who listened.
/// Errors: Unavailable.
Result<uid_t> peer_of(int socket);

}  // namespace gpuprobe::inline probe
