// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/record.h"
#include "probe/socket_worker.h"
#include "report/access.h"

namespace gpuprobe::inline service {

/// How the daemon starts workers.
enum class LaunchMode {
    Auto,    ///< through the socket if it exists; as our children if it does not or if it fails
    Socket,  ///< only through the socket; a failure becomes the probe's result
    Spawn,   ///< as our children
};
constexpr std::array<EnumName<LaunchMode>, 3> names_of(LaunchMode) {
    return {
        {{LaunchMode::Auto, "auto"}, {LaunchMode::Socket, "socket"}, {LaunchMode::Spawn, "spawn"}}};
}

struct LaunchChoice {
    LaunchMode mode = LaunchMode::Auto;
    std::string socket = "/run/gpuprobe/worker.sock";
    std::optional<std::string> worker_user = {};  ///< the user that the socket's workers run as
    /// Whether workers will start through the socket, judging by whether it exists now.
    [[nodiscard]] bool uses_socket() const;
};

/// Owns the daemon's launchers and selects one.
class Launchers {
public:
    /// `program`, `cache_home`: for workers that are our children (SpawnLauncher).
    Launchers(const LaunchChoice& choice,
              std::string program,
              std::string cache_home,
              SocketLauncher::Complaint complaint);
    [[nodiscard]] Launcher& chosen();

private:
    SpawnLauncher spawn_;
    std::unique_ptr<SocketLauncher> socket_ = {};  ///< borrows spawn_
};

/// The user with this name and all its groups; nullopt if the user does not exist.
std::optional<Caller> user_named(const std::string& name);

}  // namespace gpuprobe::inline service
