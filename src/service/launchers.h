// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/record.h"
#include "probe/socket_launcher.h"
#include "report/access.h"

namespace gpuprobe::inline service {

enum class LaunchMode {
    Auto,    ///< through the socket where it exists, and as our children where it fails
    Socket,  ///< through the socket only: what it can't start is an outcome
    Spawn,   ///< as our children
};
constexpr std::array<EnumName<LaunchMode>, 3> names_of(LaunchMode) {
    return {
        {{LaunchMode::Auto, "auto"}, {LaunchMode::Socket, "socket"}, {LaunchMode::Spawn, "spawn"}}};
}

struct LaunchChoice {
    LaunchMode mode = LaunchMode::Auto;
    std::string socket = "/run/gpuprobe/worker.sock";
    std::optional<std::string> worker_user = {};  ///< whose the socket's workers are
    /// Whether workers start through the socket, as far as can be known now.
    [[nodiscard]] bool uses_socket() const;
};

/// The daemon's launchers, one of them chosen.
class Launchers {
public:
    /// `program`, `cache_home`: of workers that are our children (SpawnLauncher).
    Launchers(const LaunchChoice& choice,
              std::string program,
              std::string cache_home,
              SocketLauncher::Complaint complaint);
    [[nodiscard]] Launcher& chosen();

private:
    SpawnLauncher spawn_;
    std::unique_ptr<SocketLauncher> socket_ = {};  ///< borrows spawn_
};

/// The user of that name with all groups; nullopt when there is none.
std::optional<Caller> user_named(const std::string& name);

}  // namespace gpuprobe::inline service
