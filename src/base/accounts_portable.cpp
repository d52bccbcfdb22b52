// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.h"
#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe::inline base {
namespace {

/// Source: passwd(5) and group(5): name, password, number.
std::optional<std::string> name_in(const char* path, std::uint32_t id) {
    constexpr Bytes kMaxFile = mib(1);
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

std::optional<std::string> group_name(gid_t id) {
    return name_in("/etc/group", id);
}

}  // namespace gpuprobe::inline base
