// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline base {

/// Parses a number that makes up the whole text, in the given base, without sign (for unsigned
/// types), space or prefix. nullopt for anything else.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
    T number{};
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (problem != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return number;
}

/// The same in base 16, with an optional "0x".
template <std::integral T>
std::optional<T> parse_hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X"))
        text.remove_prefix(2);
    return parse_number<T>(text, 16);
}

/// The text without white space at both ends.
std::string_view trimmed(std::string_view text);
/// The pieces between separators. An empty text has one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> T>
void split(T&& text, char separator) = delete;  // would return views into a destroyed temporary
/// The words between runs of white space; none is empty.
std::vector<std::string_view> words(std::string_view text);
template <std::same_as<std::string> T>
void words(T&& text) = delete;
/// The value of the first line "Key: value", the format of many files in /proc, without white space
/// around it.
std::optional<std::string_view> value_of_line(std::string_view text, std::string_view key);
/// ASCII lower case; other bytes are kept.
std::string lower_case(std::string_view text);
/// Whether `words` contains `word`.
bool contains(const std::vector<std::string>& words, std::string_view word);
/// The words of a list or set, with `between` between them.
template <class Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words)
        text.append(text.empty() ? "" : between).append(word);
    return text;
}

/// The text on one line, safe for terminals, the bus and JSON: made printable (base/characters.h)
/// and cut at a character to at most `limit` bytes.
std::string scrubbed(std::string_view text, std::size_t limit = 256);

}  // namespace gpuprobe::inline base
