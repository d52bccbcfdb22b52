// SPDX-License-Identifier: Apache-2.0
#include "inventory/access_list.h"

#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kHeaderSize = 4;
constexpr std::size_t kEntrySize = 8;
constexpr std::uint32_t kVersion = 2;

/// The values of e_tag for entries that a mode has no place for.
std::string_view tag_name(std::uint32_t tag) {
    switch (tag) {
        case 0x02:
            return "user";
        case 0x04:
            return "owning-group";
        case 0x08:
            return "group";
        case 0x10:
            return "mask";
        default:
            return "";
    }
}

std::uint32_t number_in(std::string_view bytes) {
    return static_cast<std::uint32_t>(little_endian(bytes));
}

}  // namespace

std::vector<AclEntry> access_list(std::string_view bytes) {
    if (bytes.size() < kHeaderSize || (bytes.size() - kHeaderSize) % kEntrySize != 0 ||
        number_in(bytes.substr(0, kHeaderSize)) != kVersion)
        return {};
    std::vector<AclEntry> entries;
    for (auto at = kHeaderSize; at < bytes.size(); at += kEntrySize) {
        const auto tag = tag_name(number_in(bytes.substr(at, 2)));
        if (tag.empty())
            continue;
        AclEntry entry{.tag = std::string{tag}, .mode = number_in(bytes.substr(at + 2, 2)) & 7U};
        if (tag == "user" || tag == "group")
            entry.id = number_in(bytes.substr(at + 4, 4));
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace gpuprobe::inline inventory
