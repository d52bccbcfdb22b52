// SPDX-License-Identifier: Apache-2.0
#include "service/launchers.h"

#include <vector>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace gpuprobe::inline service {
namespace {

constexpr std::size_t kUserBuffer = 16384;
constexpr int kMaxGroups = 1024;

}  // namespace

bool LaunchChoice::uses_socket() const {
    if (mode == LaunchMode::Auto)
        return ::access(socket.c_str(), F_OK) == 0;
    return mode == LaunchMode::Socket;
}

Launchers::Launchers(const LaunchChoice& choice,
                     std::string program,
                     std::string cache_home,
                     SocketLauncher::Complaint complaint)
    : spawn_{std::move(program), std::move(cache_home)} {
    // In Socket mode there is no fallback, so that workers never run without systemd's sandbox.
    auto* stand_in = choice.mode == LaunchMode::Auto ? &spawn_ : nullptr;
    if (choice.uses_socket())
        socket_ = std::make_unique<SocketLauncher>(choice.socket, stand_in, std::move(complaint));
}

Launcher& Launchers::chosen() {
    if (socket_)
        return *socket_;
    return spawn_;
}

std::optional<Caller> user_named(const std::string& name) {
    std::vector<char> buffer(kUserBuffer);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    std::vector<gid_t> groups(kMaxGroups);
    int count = kMaxGroups;
    if (::getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0)
        count = kMaxGroups;  // more groups than any real user has: use the first ones
    groups.resize(static_cast<std::size_t>(count));
    return Caller{.uid = entry.pw_uid,
                  .groups = std::vector<std::uint32_t>{groups.begin(), groups.end()}};
}

}  // namespace gpuprobe::inline service
