// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gpuprobe::support {

struct LinkerEntry {
    std::uint32_t flags;  ///< 0x0303 on x86-64
    std::string soname;
};

/// A cache in ldconfig's format: header, entries of 24 bytes, strings. All libraries are in /lib.
inline std::string linker_cache_of(const std::vector<LinkerEntry>& entries) {
    const auto add_number = [](std::uint32_t number, std::string& text) {
        char bytes[sizeof(number)];
        std::memcpy(bytes, &number, sizeof(number));
        text.append(bytes, sizeof(number));
    };
    std::string strings;
    std::string table;
    const auto base = static_cast<std::uint32_t>(48 + 24 * entries.size());
    for (const auto& entry : entries) {
        const auto key = base + static_cast<std::uint32_t>(strings.size());
        strings += entry.soname + '\0';
        const auto value = base + static_cast<std::uint32_t>(strings.size());
        strings += "/lib/" + entry.soname + '\0';
        for (const auto number : {entry.flags, key, value, 0U, 0U, 0U})
            add_number(number, table);
    }
    std::string text = "glibc-ld.so.cache1.1";
    add_number(static_cast<std::uint32_t>(entries.size()), text);
    add_number(static_cast<std::uint32_t>(strings.size()), text);
    text.resize(48);
    return text + table + strings;
}

}  // namespace gpuprobe::support
