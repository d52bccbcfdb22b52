// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline base {

/// The number that the whole text is, in that base, without sign, space or prefix; else nullopt.
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

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
/// The pieces between separators; an empty text has one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> T>
void split(T&& text, char separator) = delete;  // the pieces of a text that is gone
/// The pieces between runs of white space, none of them empty.
std::vector<std::string_view> words(std::string_view text);
template <std::same_as<std::string> T>
void words(T&& text) = delete;
/// The value of the first line "Key: value", as the kernel writes many facts, without white space
/// around it.
std::optional<std::string_view> value_of_line(std::string_view text, std::string_view key);
/// ASCII lower case; other bytes are kept.
std::string lower_case(std::string_view text);
/// One of the words is that word.
bool contains(const std::vector<std::string>& words, std::string_view word);
/// The words of a list or a set, with `between` between two.
template <class Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words)
        text.append(text.empty() ? "" : between).append(word);
    return text;
}

/// The text on one line, as people, a bus and JSON may get it: printable (base/characters.h), and
/// at most `limit` bytes, cut at a character.
std::string scrubbed(std::string_view text, std::size_t limit = 256);

}  // namespace gpuprobe::inline base
