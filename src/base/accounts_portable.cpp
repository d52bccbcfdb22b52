// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"
#include "base/files.h"
#include "base/text.h"

// A statically linked program cannot load NSS modules, so this file reads the two files itself.
namespace gpuprobe::inline base {
namespace {

constexpr Bytes kMaxFile = mib(1);
constexpr std::size_t kMaxAccounts = 65536;

/// The name of entry `id` in passwd(5) or group(5): in both files, the first three columns are
/// name, password and number.
std::optional<std::string> name_in(const char* path, std::uint32_t id) {
    const auto text = RootedFiles{}.read(path, kMaxFile);
    if (!text)
        return std::nullopt;
    for (const auto line : split(*text, '\n')) {
        const auto columns = split(line, ':');
        if (columns.size() > 3 && parse_number<std::uint32_t>(columns[2]) == id)
            return std::string{columns[0]};
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> user_name(uid_t id) {
    return name_in("/etc/passwd", id);
}

// Columns of passwd(5): name, password, user id, group id, comment, home folder, shell.
std::vector<Account> accounts() {
    std::vector<Account> all;
    const auto text = RootedFiles{}.read("/etc/passwd", kMaxFile);
    for (const auto line : split(text ? std::string_view{*text} : std::string_view{}, '\n')) {
        const auto columns = split(line, ':');
        const auto uid = columns.size() > 5 ? parse_number<uid_t>(columns[2]) : std::nullopt;
        if (uid && all.size() < kMaxAccounts)
            all.push_back(
                {.name = std::string{columns[0]}, .uid = *uid, .home = std::string{columns[5]}});
    }
    return all;
}

std::optional<std::string> home_of(uid_t id) {
    for (const auto& account : accounts())
        if (account.uid == id)
            return account.home;
    return std::nullopt;
}

std::optional<std::string> group_name(gid_t id) {
    return name_in("/etc/group", id);
}

}  // namespace gpuprobe::inline base
