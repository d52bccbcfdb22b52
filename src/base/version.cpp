// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::inline base {
namespace {

constexpr std::size_t kMaxDigits = 9;  // the largest number with nine digits fits in 32 bits

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

// "580.65.06" has the parts 580, 65 and 6: leading zeros are ignored.
std::optional<Version> parse_text(std::string_view text, std::type_identity<Version>) {
    Version version;
    const auto pieces = split(text, '.');
    if (pieces.size() > version.parts.size())
        return std::nullopt;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto number = parse_number<std::uint32_t>(pieces[i]);
        if (!number || pieces[i].size() > kMaxDigits)
            return std::nullopt;
        version.parts[i] = *number;
    }
    return version;
}

std::string text_of(const Version& version) {
    // Drop trailing zeros, but keep "580.0".
    std::size_t count = version.parts.size();
    while (count > 2 && version.parts[count - 1] == 0)
        --count;
    std::string text = std::to_string(version.parts[0]);
    for (std::size_t i = 1; i < count; ++i)
        text += "." + std::to_string(version.parts[i]);
    return text;
}

bool is_python_version(std::string_view text) {
    return std::ranges::count(text, '.') == 1 &&
           parse_text(text, std::type_identity<Version>{}).has_value();
}

std::optional<Version> leading_version(std::string_view text) {
    std::size_t end = 0;
    int dots = 0;
    // Find the end of the version: the first character that is neither a digit nor a dot between
    // digits, or the fourth such dot.
    while (end < text.size()) {
        // A dot belongs to the version only between digits, so "6.8." and "6.8.x" end after the 8.
        const bool is_inner_dot =
            text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]) && end > 0;
        if (is_inner_dot && ++dots == 4)
            break;
        if (!is_inner_dot && !is_digit(text[end]))
            break;
        ++end;
    }
    return parse_text(text.substr(0, end), std::type_identity<Version>{});
}

bool VersionRange::contains(const Version& version) const {
    return (!min || version >= *min) && (!max || version <= *max) && (!below || version < *below);
}

}  // namespace gpuprobe::inline base
