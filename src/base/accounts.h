// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

/// Names of accounts, from the name services of this machine (nsswitch.conf(5)). The portable
/// program cannot load name services and reads /etc/passwd and /etc/group instead.
namespace gpuprobe::inline base {

inline constexpr uid_t kRoot = 0;
/// The lowest user id that the account of a person can have. Lower ids, apart from root, belong to
/// system accounts. Source: login.defs(5), UID_MIN.
inline constexpr uid_t kFirstPerson = 1000;

/// The name of a user or group; nullopt if the id has no entry.
std::optional<std::string> user_name(uid_t id);
std::optional<std::string> group_name(gid_t id);

struct Account {
    std::string name = {};
    uid_t uid = 0;
    std::string home = {};
};
/// All accounts that can be enumerated, at most 65536. Directory services such as LDAP often do not
/// support enumeration; their accounts are then missing.
std::vector<Account> accounts();
/// The home folder of a user; nullopt for an unknown user.
std::optional<std::string> home_of(uid_t id);

}  // namespace gpuprobe::inline base
