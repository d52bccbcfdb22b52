// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <algorithm>
#include <cstdint>

namespace gpuprobe::inline base {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f\v";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length in bytes of the well-formed UTF-8 character at the front; 0 when there is none.
/// Source: Unicode 15, table 3-7.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto in = [&](std::size_t i, unsigned low, unsigned high) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return in(1, 0x80, 0xBF) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = first == 0xED ? 0x9F : 0xBF;
        return in(1, low, high) && in(2, 0x80, 0xBF) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned low = first == 0xF0 ? 0x90 : 0x80;
        const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
        return in(1, low, high) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

/// C0, DEL, C1, and the marks that reorder text on a terminal (U+200E-F, U+202A-E, U+2066-9).
bool is_forbidden(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1)
        return first < 0x20 || first == 0x7F;
    const auto second = static_cast<unsigned char>(character[1]);
    if (character.size() == 2)
        return first == 0xC2 && second < 0xA0;
    if (character.size() != 3 || first != 0xE2)
        return false;
    const auto third = static_cast<unsigned char>(character[2]);
    const bool is_mark = second == 0x80 && (third == 0x8E || third == 0x8F);
    const bool is_override = second == 0x80 && third >= 0xAA && third <= 0xAE;
    const bool is_isolate = second == 0x81 && third >= 0xA6 && third <= 0xA9;
    return is_mark || is_override || is_isolate;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

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
        const auto colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
            return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

std::string scrubbed(std::string_view text, std::size_t limit) {
    std::string clean;
    while (!text.empty()) {
        const auto length = character_length(text);
        const auto character = text.substr(0, std::max<std::size_t>(length, 1));
        const auto piece = length == 0 || is_forbidden(character) ? kReplacement : character;
        if (clean.size() + piece.size() > limit)
            break;
        clean += piece;
        text.remove_prefix(character.size());
    }
    return clean;
}

}  // namespace gpuprobe::inline base
