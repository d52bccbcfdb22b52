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

/// The protocol between the daemon and a worker's parent process (serve_worker.h).
///
/// It uses a Unix socket that preserves message boundaries (SOCK_SEQPACKET). Each message is one
/// JSON object. The daemon sends a single message, the target, with two descriptors: one for the
/// frames, one for stdout and stderr. The parent replies `started` and, when the worker has ended,
/// `ended`. To end the worker, the daemon shuts down its half of the connection.
namespace gpuprobe::inline probe {

constexpr Bytes kMaxRequest = kib(64);  ///< two paths with JSON escapes
constexpr Bytes kMaxNotice = kib(1);
constexpr std::size_t kRequestDescriptors = 2;  ///< frames, output

RECORD_MEMBERS(ProbeTarget, api, driver, library, stage, device)

enum class WorkerEvent { Started, Ended };
constexpr std::array<EnumName<WorkerEvent>, 2> names_of(WorkerEvent) {
    return {{{WorkerEvent::Started, "started"}, {WorkerEvent::Ended, "ended"}}};
}

struct WorkerNotice {
    WorkerEvent event = WorkerEvent::Started;
    WorkerExit exit = {};  ///< for Ended
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

/// Sends a message; does not block on a non-blocking socket. Errors: Unavailable, with the reason.
Status send_message(int socket, std::string_view text, std::span<const int> descriptors = {});

/// The next message; nullopt if none has arrived; never blocks. Errors: Unavailable if the peer has
/// closed the connection; TooLarge over `limit`; Malformed for more than `descriptors` descriptors,
/// all of which are closed.
Result<std::optional<Message>> receive_message(int socket, Bytes limit, std::size_t descriptors);

/// The uid of the peer: on the listening side, the user who connected; on the connecting side, the
/// user who listens. Errors: Unavailable.
Result<uid_t> peer_of(int socket);

}  // namespace gpuprobe::inline probe
