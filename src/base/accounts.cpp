// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"

#include <vector>

#include <grp.h>
#include <pwd.h>

namespace gpuprobe::inline base {
namespace {

constexpr std::size_t kBuffer = 16384;

}  // namespace

std::optional<std::string> user_name(uid_t id) {
    std::vector<char> buffer(kBuffer);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    return found->pw_name;
}

std::optional<std::string> group_name(gid_t id) {
    std::vector<char> buffer(kBuffer);
    group entry = {};
    group* found = nullptr;
    if (::getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    return found->gr_name;
}

}  // namespace gpuprobe::inline base
