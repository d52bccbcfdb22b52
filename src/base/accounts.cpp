// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"

#include <vector>

#include <grp.h>
#include <pwd.h>

namespace gpuprobe::inline base {
namespace {

/// The size of the buffer for the strings of one entry. A larger entry is treated as unknown.
constexpr std::size_t kBuffer = 16384;
/// The number of accounts is limited, because a directory service may list the accounts of a whole
/// company.
constexpr std::size_t kMaxAccounts = 65536;

/// The account of a user id. getpwuid_r() may report an unknown id as success with no entry, or as
/// an error, depending on the name service.
std::optional<Account> account_of(uid_t id) {
    std::vector<char> buffer(kBuffer);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return std::nullopt;
    return Account{.name = found->pw_name, .uid = found->pw_uid, .home = found->pw_dir};
}

}  // namespace

std::optional<std::string> user_name(uid_t id) {
    const auto account = account_of(id);
    return account ? std::optional{account->name} : std::nullopt;
}

std::optional<std::string> home_of(uid_t id) {
    const auto account = account_of(id);
    return account ? std::optional{account->home} : std::nullopt;
}

std::vector<Account> accounts() {
    std::vector<Account> all;
    // getpwent() keeps its position in a global variable, so this function must not run in two
    // threads at the same time.
    ::setpwent();
    while (all.size() < kMaxAccounts)
        if (const auto* entry = ::getpwent())
            all.push_back({.name = entry->pw_name, .uid = entry->pw_uid, .home = entry->pw_dir});
        else
            break;
    ::endpwent();
    return all;
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
