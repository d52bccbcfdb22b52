// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The following functions decode UTF-8 characters and determine which of them are safe to print on
/// a terminal.

namespace gpuprobe::inline base {

/// The first character of a string.
struct Utf8Character {
    std::size_t bytes = 1;
    /// The code point of the character; nullopt if the string does not begin with a well-formed
    /// character.
    std::optional<char32_t> point = {};
};

/// Decodes the first character; `text` must not be empty. Source: Unicode 15, table 3-7.
Utf8Character first_character(std::string_view text);

/// Whether a character must not be printed: controls, characters that reorder, hide or break text,
/// tags, private-use characters and unassigned characters. The decision depends on the Unicode
/// category, see base/character_table.h.
bool is_unprintable(char32_t point);

/// Whether a character is a combining mark: such a mark is drawn over the previous character and
/// takes no column.
bool is_mark(char32_t point);

/// Returns the string in a form that is safe to print on a terminal. Bytes that are not UTF-8 and
/// unprintable characters become U+FFFD, as do marks without a base character and all marks after
/// the fourth mark on one character. Control characters listed in `kept` are kept. The result has
/// at most `limit` bytes and is cut at a character boundary.
std::string printable(std::string_view text,
                      std::string_view kept = {},
                      std::size_t limit = std::string::npos);

/// Parses a string that consists only of a number in the given base. Spaces and prefixes are not
/// allowed, and for unsigned types, signs aren't allowed either. nullopt for any other string.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
    T number{};
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (problem != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return number;
}

/// Parses a number in base 16, with an optional prefix "0x".
template <std::integral T>
std::optional<T> parse_hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X"))
        text.remove_prefix(2);
    return parse_number<T>(text, 16);
}

/// The string without leading and trailing white space.
std::string_view trimmed(std::string_view text);
/// Splits a string at each separator. An empty string yields one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> T>
void split(T&& text, char separator) = delete;  // would return views into a destroyed temporary
/// Splits a string at white space. None of the words is empty.
std::vector<std::string_view> words(std::string_view text);
template <std::same_as<std::string> T>
void words(T&& text) = delete;
/// The value in the first line of the form "Key: value", without white space around the value. Many
/// files in /proc contain such lines.
std::optional<std::string_view> value_of_line(std::string_view text, std::string_view key);
/// The number in decimal, padded with zeros to at least `digits` digits, such as "07".
std::string zero_padded(std::int64_t number, std::size_t digits);
/// The string with its ASCII letters in lower case. Other bytes are unchanged.
std::string lower_case(std::string_view text);
/// Whether `words` contains `word`.
bool contains(const std::vector<std::string>& words, std::string_view word);
/// Joins the words of a list or set with the separator `between`.
template <class Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words)
        text.append(text.empty() ? "" : between).append(word);
    return text;
}

/// The string on one line, safe for terminals, the bus and JSON. Uses printable(), and cuts the
/// result at a character boundary to at most `limit` bytes.
std::string scrubbed(std::string_view text, std::size_t limit = 256);

/// The word in `known` that was most likely meant by `given`: the word with the fewest inserted,
/// dropped, changed or swapped letters, at most one in three letters. If several words are equally
/// close, the first of them is returned. nullopt if no word is close.
std::optional<std::string> closest(std::string_view given, const std::vector<std::string>& known);

/// The question "did you mean 'llama.cpp' or 'llama.app'?" about an unknown word; empty if no known
/// word resembles the unknown word. Known words consist of parts, as in "node-llama-cpp": words
/// that start with the part `given` come first, then words that contain this part, then the
/// closest() word, then words that are a part of `given`. The question suggests at most three
/// words.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

/// A hint to append to a message about an unknown word: "; did you mean 'torch'?", or, if no word
/// resembles it, the list of all known words: "; known values: jax, torch".
std::string suggestion(std::string_view given, const std::vector<std::string>& known);

// Templates ---------------------------------------------------------------------------------------
//
// Strings with placeholders in braces: "{requested} isn't available". An unpaired brace is
// ordinary text, and so are the braces around another placeholder.
//
// A sentence can have optional parts. Text in "[" and "]" is left out if a placeholder in it is
// unknown; "[A|B]" uses the first alternative whose placeholders are all known. Outside brackets,
// an unknown placeholder is replaced by kNothingKnown. An optional part whose bracket isn't closed
// ends at the end of the sentence.

/// Returns the replacement for a placeholder, which is passed without its braces; nullopt if the
/// replacement is unknown.
using WordLookup = std::function<std::optional<std::string>(std::string_view placeholder)>;

/// The replacement for a placeholder whose value is unknown.
constexpr std::string_view kNothingKnown = "?";

/// The error in a template: an unpaired brace or a placeholder for which `exists` is false; nullopt
/// if the template is valid.
std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists);

/// Fills in all placeholders of a template, which must have no optional parts; nullopt if a
/// placeholder's value is unknown, or if a brace is unpaired.
std::optional<std::string> filled_template(std::string_view text, const WordLookup& lookup);

/// The sentence with its placeholders and optional parts filled in.
std::string filled_sentence(std::string_view sentence, const WordLookup& lookup);

}  // namespace gpuprobe::inline base
