// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <algorithm>

#include "base/characters.h"

namespace gpuprobe::inline base {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f\v";

}  // namespace

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Adjacent separators give an empty piece between them.
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const auto end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return pieces;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const auto end = std::min(text.find_first_of(kSpace), text.size());
        pieces.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return pieces;
}

std::optional<std::string_view> value_of_line(std::string_view text, std::string_view key) {
    for (const auto line : split(text, '\n')) {
        // The first colon ends the key; values may contain more of them.
        const auto colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
            return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// Not tolower(), which depends on the locale.
std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

// Without kept control characters, newlines are replaced as well.
std::string scrubbed(std::string_view text, std::size_t limit) {
    return printable(text, {}, limit);
}

}  // namespace gpuprobe::inline base
