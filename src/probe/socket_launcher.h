// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "probe/launcher.h"

namespace gpuprobe::inline probe {

/// Starts workers through systemd, one for each connection to its socket (Accept=yes). They run as
/// another user in systemd's sandbox and are not our children. Protocol: worker_message.h.
///
/// systemd takes tens of milliseconds to start a worker, so launch() does not wait for it. If the
/// worker can't be started (unit failure, the socket's connection limit), the connection ends, and
/// the failure is known only then.
class SocketLauncher final : public Launcher {
public:
    /// Called with the reason if the socket can't be used: once, and again only if the socket has
    /// worked in the meantime.
    using Complaint = std::function<void(const std::string& problem)>;

    /// `path`: the socket. `stand_in`: fallback launcher for when the socket fails; may be null. It
    /// must outlive this launcher, which must outlive its workers.
    SocketLauncher(std::string path, SpawnLauncher* stand_in, Complaint complaint);
    /// Errors: ProbeFailed if the fallback fails or, without a fallback, if the socket is missing
    /// or refuses the connection, or if its listener is neither root nor our own user.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;

private:
    friend class SocketWorker;

    [[nodiscard]] Result<std::unique_ptr<Worker>> hand_over(const ProbeTarget& target);
    /// Starts the worker with the fallback launcher. Errors: ProbeFailed without a fallback or if
    /// it fails as well.
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
