// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// UTF-8 characters, and which of them are safe to print on a terminal.
namespace gpuprobe::inline base {

/// The first character of a text.
struct Utf8Character {
    std::size_t bytes = 1;
    /// absent: the first byte does not start a well-formed character
    std::optional<char32_t> point = {};
};

/// Decodes the first character; `text` must not be empty. Source: Unicode 15, table 3-7.
Utf8Character first_character(std::string_view text);

/// Whether a character must not be printed: controls, characters that reorder, hide or break text,
/// tags, private-use and unassigned ones. Decided by Unicode category, from base/character_table.h.
bool is_unprintable(char32_t point);

/// Whether a character is a combining mark: drawn over the character before it, taking no column.
bool is_mark(char32_t point);

/// Returns the text in a form that is safe to print on a terminal. Bytes that are not UTF-8 and
/// unprintable characters become U+FFFD, as do marks without a base character and all marks after
/// the fourth on one character. Control characters listed in `kept` are kept. The result has at
/// most `limit` bytes and is cut at a character boundary.
std::string printable(std::string_view text,
                      std::string_view kept = {},
                      std::size_t limit = std::string::npos);

}  // namespace gpuprobe::inline base
