// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "probe/launcher.h"

namespace gpuprobe::inline probe {

/// Workers that systemd starts, one for each connection to its socket (Accept=yes), as another user
/// in a sandbox of their own; not our children. What is said on the connection: worker_message.h.
///
/// Starting takes systemd tens of milliseconds, so nothing here waits for it. A connection that
/// ends before its worker has started (a unit that can't be started, the socket's limit of
/// connections) is known only by then.
class SocketLauncher final : public Launcher {
public:
    /// Is told why the socket can't be used: once, and again only after it has worked in between.
    using Complaint = std::function<void(const std::string& problem)>;

    /// `path`: the socket. `stand_in`: starts a worker when the socket does not; null for none. It
    /// must outlive this launcher, which must outlive its workers.
    SocketLauncher(std::string path, SpawnLauncher* stand_in, Complaint complaint);
    /// Errors: ProbeFailed without a stand-in: no socket, none that accepts, served by a user that
    /// is neither root nor ours.
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override;

private:
    friend class SocketWorker;

    [[nodiscard]] Result<std::unique_ptr<Worker>> hand_over(const ProbeTarget& target);
    /// Errors: ProbeFailed, when there is no stand-in or it fails too.
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
