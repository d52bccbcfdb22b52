// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace gpuprobe::inline inventory {

constexpr Bytes kMaxAttribute = kib(64);
constexpr Bytes kMaxPlausibleMemory = gib(16384);  ///< what a driver says beyond is wrong
constexpr std::size_t kMaxNotes = 64;

/// KEY=value lines, as a uevent file has them.
using KeyValues = std::map<std::string, std::string, std::less<>>;

/// How a scan reads sysfs and procfs. A missing file gives nullopt or an empty list; one that is
/// there but can't be read does so too, and leaves a note. Values from drivers are bounded and
/// scrubbed.
class Sysfs {
public:
    /// Both are borrowed for as long as this lives.
    Sysfs(const FileSystem& files, std::vector<std::string>& notes)
        : files_{files}, notes_{notes} {}

    /// The first line, trimmed; nullopt when it is empty.
    [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
    /// The whole content up to kMaxAttribute, as the kernel wrote it.
    [[nodiscard]] std::optional<std::string> content(const std::string& path) const;
    /// A non-negative decimal number.
    [[nodiscard]] std::optional<std::uint64_t> number(const std::string& path) const;
    /// The names in a folder, sorted.
    [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
    /// The last part of a link's target, as `driver` and `subsystem` links carry it.
    [[nodiscard]] std::optional<std::string> link_name(const std::string& path) const;
    /// The path with every link resolved; nullopt when there is nothing.
    [[nodiscard]] std::optional<std::string> resolved(const std::string& path) const;
    [[nodiscard]] bool exists(const std::string& path) const { return files_.exists(path); }
    [[nodiscard]] KeyValues key_values(const std::string& path) const;
    void note(std::string text) const;

private:
    void note(const Error& error) const;

    const FileSystem& files_;
    std::vector<std::string>& notes_;
};

/// The part of a path behind its last slash.
std::string_view base_name(std::string_view path);
/// The part of a path before its last slash; "/" at the top.
std::string_view folder_of(std::string_view path);
/// Up to eight bytes of a binary attribute as a number, the least significant first.
std::uint64_t little_endian(std::string_view bytes);
/// "0x10DE" or "10DE" as `digits` lower-case hexadecimal digits; nullopt when it does not fit.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

}  // namespace gpuprobe::inline inventory
