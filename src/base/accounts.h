// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

/// Names of accounts as this machine knows them (nsswitch.conf(5)); the portable program, which can
/// load nothing, knows those of /etc/passwd and /etc/group.
namespace gpuprobe::inline base {

inline constexpr uid_t kRoot = 0;
/// Accounts below are of the system. Source: login.defs(5), UID_MIN.
inline constexpr uid_t kFirstPerson = 1000;

std::optional<std::string> user_name(uid_t id);
std::optional<std::string> group_name(gid_t id);

struct Account {
    std::string name = {};
    uid_t uid = 0;
    std::string home = {};
};
/// All accounts that can be listed: those of a directory service are often left out. At most 65536.
std::vector<Account> accounts();
/// The home folder of a user; nullopt for an unknown user.
std::optional<std::string> home_of(uid_t id);

}  // namespace gpuprobe::inline base
