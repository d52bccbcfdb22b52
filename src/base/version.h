// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace gpuprobe::inline base {

/// A numeric dotted version of one to four parts, such as "580.65.06" or "13.0". Versions are
/// compared part by part as numbers, so 450.119 is newer than 450.80. A missing part counts as 0.
struct Version {
    std::array<std::uint32_t, 4> parts = {};

    auto operator<=>(const Version&) const = default;
    bool operator==(const Version&) const = default;
    [[nodiscard]] std::uint32_t major() const { return parts[0]; }
};

/// Parses a version. Each part has one to nine digits; nullopt for any other string.
std::optional<Version> parse_text(std::string_view text, std::type_identity<Version>);
/// The version as a string, without trailing zero parts, but with at least two parts, such as
/// "580.0".
std::string text_of(const Version& version);

/// Whether the string is a Python version as wheels and packages specify it, such as "3.12".
bool is_python_version(std::string_view text);

/// The version at the start of a string ("6.8.0-45-generic", "580.159.04"), of at most four parts.
/// nullopt if the string does not start with a version.
std::optional<Version> leading_version(std::string_view text);

/// A range of versions. Each bound is optional.
struct VersionRange {
    std::optional<Version> min = {};
    std::optional<Version> max = {};    ///< the newest version in the range
    std::optional<Version> below = {};  ///< the oldest version that is too new

    [[nodiscard]] bool contains(const Version& version) const;
    bool operator==(const VersionRange&) const = default;
};

/// The release, from the project's CMakeLists.txt.
inline constexpr std::string_view kVersion = GPUPROBE_VERSION;

}  // namespace gpuprobe::inline base
