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
constexpr Bytes kMaxPlausibleMemory =
    gib(16384);  ///< larger sizes from a driver are treated as wrong
constexpr std::size_t kMaxNotes = 64;

/// The KEY=value lines of a uevent file.
using KeyValues = std::map<std::string, std::string, std::less<>>;

/// Reads sysfs and procfs for a scan. A missing file gives nullopt or an empty list. A file that
/// exists but can't be read gives the same and adds a note. Text from drivers is limited in length
/// and scrubbed.
class Sysfs {
public:
    /// `files` and `notes` are borrowed and must outlive this object.
    Sysfs(const FileSystem& files, std::vector<std::string>& notes)
        : files_{files}, notes_{notes} {}

    /// The first line, trimmed; nullopt if it is empty.
    [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
    /// The whole content up to kMaxAttribute, unscrubbed.
    [[nodiscard]] std::optional<std::string> content(const std::string& path) const;
    /// The first line as a non-negative decimal number; nullopt for any other text.
    [[nodiscard]] std::optional<std::uint64_t> number(const std::string& path) const;
    /// The names in a folder, sorted.
    [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
    /// The last component of a symbolic link's target, for example of a `driver` or `subsystem`
    /// link.
    [[nodiscard]] std::optional<std::string> link_name(const std::string& path) const;
    /// The path with every symbolic link resolved; nullopt if it does not exist.
    [[nodiscard]] std::optional<std::string> resolved(const std::string& path) const;
    [[nodiscard]] bool exists(const std::string& path) const { return files_.exists(path); }
    /// The KEY=value lines of the file; empty if it can't be read. Other lines are skipped.
    [[nodiscard]] KeyValues key_values(const std::string& path) const;
    /// Adds a scrubbed note; notes after the first kMaxNotes are dropped.
    void note(std::string text) const;

private:
    void note(const Error& error) const;

    const FileSystem& files_;
    std::vector<std::string>& notes_;
};

/// The part of a path after its last slash.
std::string_view base_name(std::string_view path);
/// The part of a path before its last slash; "/" at the top.
std::string_view folder_of(std::string_view path);
/// Up to eight bytes of a binary attribute as a little-endian number.
std::uint64_t little_endian(std::string_view bytes);
/// Converts "0x10DE" or "10DE" to `digits` lower-case hexadecimal digits; nullopt if the text is
/// not hexadecimal or needs more digits.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

}  // namespace gpuprobe::inline inventory
