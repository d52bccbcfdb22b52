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

/// A numeric dotted version of one to four parts: "580.65.06", "13.0". Compared part by part as
/// numbers, so that 450.119 is newer than 450.80; a part that is not there counts as 0.
struct Version {
    std::array<std::uint32_t, 4> parts = {};

    auto operator<=>(const Version&) const = default;
    bool operator==(const Version&) const = default;
    [[nodiscard]] std::uint32_t major() const { return parts[0]; }
};

/// Each part has one to nine digits; anything else is no version.
std::optional<Version> parse_text(std::string_view text, std::type_identity<Version>);
/// Without trailing parts of 0, but with at least two parts: "580.0".
std::string text_of(const Version& version);

/// The version that a text starts with ("6.8.0-45-generic", "580.159.04"), of which four parts
/// count; nullopt when it starts with none.
std::optional<Version> leading_version(std::string_view text);

/// Below `below` and not below `min`, as far as they are given.
struct VersionRange {
    std::optional<Version> min = {};
    std::optional<Version> max = {};    ///< included
    std::optional<Version> below = {};  ///< excluded

    [[nodiscard]] bool contains(const Version& version) const;
    bool operator==(const VersionRange&) const = default;
};

}  // namespace gpuprobe::inline base
