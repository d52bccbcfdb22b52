// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
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

/// The protocol between the daemon and the parent process of a worker.
///
/// The protocol uses a Unix socket that preserves message boundaries (SOCK_SEQPACKET). Each message
/// is one JSON object. The daemon sends a single message, the target, with two descriptors: one for
/// the frames, and one for stdout and stderr. The parent replies `started` and, when the worker has
/// ended, `ended`. To end the worker, the daemon shuts down its half of the connection.

namespace gpuprobe::inline probe {

constexpr Bytes kMaxRequest = kib(64);  ///< enough for two paths with JSON escapes
constexpr Bytes kMaxNotice = kib(1);
constexpr std::size_t kRequestDescriptors = 2;  ///< the descriptors for frames and for output

RECORD_MEMBERS(ProbeTarget, api, driver, library, stage, device)

enum class WorkerEvent { Started, Ended };
constexpr std::array<EnumName<WorkerEvent>, 2> names_of(WorkerEvent) {
    return {{{WorkerEvent::Started, "started"}, {WorkerEvent::Ended, "ended"}}};
}

struct WorkerNotice {
    WorkerEvent event = WorkerEvent::Started;
    WorkerExit exit = {};  ///< how the worker ended, for the event Ended
};
RECORD_MEMBERS(WorkerNotice,
               event,
               ("code", exit.code),
               ("signal", exit.signal),
               ("processor_time", exit.processor_time),
               ("peak_memory", exit.peak_memory))

struct Message {
    std::string text = {};
    std::vector<UniqueFd> descriptors = {};  ///< received descriptors, which are close-on-exec
};

/// Sends a message; does not block on a non-blocking socket. Errors: Unavailable, with the reason.
Status send_message(int socket, std::string_view text, std::span<const int> descriptors = {});

/// The next message; nullopt if none has arrived; never blocks. Errors: Unavailable if the peer has
/// closed the connection; TooLarge if the message is longer than `limit`; Malformed if the message
/// has more than `descriptors` descriptors; all descriptors are then closed.
Result<std::optional<Message>> receive_message(int socket, Bytes limit, std::size_t descriptors);

/// The uid of the peer: on the listening side, the user who connected; on the connecting side, the
/// user who listens. Errors: Unavailable.
Result<uid_t> peer_of(int socket);

// The following functions run in the parent process of a worker that systemd starts. The parent
// process does not load a driver, so if a driver crashes, only the child ends, and the parent can
// report the crash as a result.

/// Serves one connection: receives the target, starts the worker with `launcher`, reports its start
/// and its end, and returns. If the client shuts down its half of the connection, the worker and
/// its process group are killed. If the worker is stuck in the kernel, this function waits until
/// systemd's time limit for the unit ends this process.
///
/// Errors: NotAuthorized unless the client is `peer` or root; Malformed for an invalid request;
/// Unavailable if the client disconnects before it sends a request.
Status serve_worker(const UniqueFd& connection, SpawnLauncher& launcher, uid_t peer);

/// Implements `gpuprobe-worker --socket`: serves one connection, which systemd passes as
/// descriptor 3 (sd_listen_fds(3)). `options`: the arguments after --socket.
///
/// `--peer USER`: the user who may connect besides root; default: this process's user. `--setenv
/// NAME=VALUE`, repeatable: variables for drivers in unusual places, such as LD_LIBRARY_PATH.
/// Errors: InvalidRequest for invalid options or if systemd passed no connection; otherwise the
/// same errors as for serve_worker().
Status serve_socket(std::span<char*> options);

/// Starts workers through systemd, one for each connection to its socket (Accept=yes). Workers run
/// as another user in systemd's sandbox and aren't our children. The protocol is described above.
///
/// systemd takes tens of milliseconds to start a worker, so launch() does not wait for the worker.
/// If the worker can't be started (unit failure, the socket's connection limit), the end of the
/// connection reports the failure.
class SocketLauncher final : public Launcher {
public:
    /// Called with the reason if the socket can't be used: once, and again only if the socket has
    /// worked in the meantime.
    using Complaint = std::function<void(const std::string& problem)>;

    /// `path`: the socket. `stand_in`: the launcher to use if the socket fails; may be null.
    /// `stand_in` must outlive this launcher, and this launcher must outlive its workers.
    SocketLauncher(std::string path, SpawnLauncher* stand_in, Complaint complaint);
    /// Errors: ProbeFailed if the fallback fails or, without a fallback, if the socket is missing
    /// or refuses the connection, or if its listener is neither root nor our own user.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;

private:
    friend class SocketWorker;

    [[nodiscard]] Result<std::unique_ptr<Worker>> hand_over(const ProbeTarget& target);
    /// Starts the worker with the fallback launcher. Errors: ProbeFailed if there is no fallback
    /// launcher or if the fallback launcher also fails.
    [[nodiscard]] Result<std::unique_ptr<Worker>> stand_in_for(const ProbeTarget& target,
                                                               int frames,
                                                               int output,
                                                               const std::string& problem);
    void complain(const std::string& problem);
    void works() { has_complained_ = false; }

    std::string path_;
    SpawnLauncher* stand_in_;
    Complaint complaint_;
    bool has_complained_ = false;
};

}  // namespace gpuprobe::inline probe
