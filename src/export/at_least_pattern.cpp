// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "export/selector.h"

namespace gpuprobe::inline exports {
namespace {

/// A pattern for exactly that many digits.
std::string digits(std::size_t count) {
    return count == 0 ? "" : count == 1 ? "[0-9]" : "[0-9]{" + std::to_string(count) + "}";
}

/// A pattern for integers >= `floor` without leading zeros: the number itself; the same prefix with
/// a higher digit and any further digits; or more digits.
std::string number_pattern(std::uint32_t floor) {
    const auto text = std::to_string(floor);
    std::string pattern = text;
    for (std::size_t at = text.size(); at-- > 0;) {
        if (text[at] == '9')
            continue;
        const char next = static_cast<char>(text[at] + 1);
        const auto range = next == '9' ? "9" : std::string{"["} + next + "-9]";
        pattern += "|" + text.substr(0, at) + range + digits(text.size() - at - 1);
    }
    return "(" + pattern + "|[1-9]" + digits(text.size()) + "[0-9]*)";
}

/// A pattern for the rest of a version that equals `floor` in the parts before `at`.
std::string rest_pattern(const Version& floor, std::size_t at) {
    const bool is_over = std::all_of(floor.parts.begin() + static_cast<std::ptrdiff_t>(at),
                                     floor.parts.end(), [](auto part) { return part == 0; });
    if (is_over)
        return "([.].*)?";
    // Either this part is higher and the rest is free, or it is equal and the rest decides.
    const auto higher = "0*" + number_pattern(floor.parts[at] + 1) + "([.].*)?";
    return "[.](" + higher + "|0*" + std::to_string(floor.parts[at]) + rest_pattern(floor, at + 1) +
           ")";
}

}  // namespace

std::string at_least_pattern(const Version& floor) {
    return number_pattern(floor.parts[0] + 1) + "([.].*)?|" + std::to_string(floor.parts[0]) +
           rest_pattern(floor, 1);
}

}  // namespace gpuprobe::inline exports
