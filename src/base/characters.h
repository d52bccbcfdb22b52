// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Characters of UTF-8, and which of them a terminal may get.
namespace gpuprobe::inline base {

/// The character at the front of a text.
struct Utf8Character {
    std::size_t bytes = 1;
    std::optional<char32_t> point = {};  ///< absent: the byte begins no well-formed character
};

/// The text must not be empty. Source: Unicode 15, table 3-7.
Utf8Character first_character(std::string_view text);

/// Controls, characters that reorder, hide or break text, tags, private and unassigned ones: by
/// category, from base/character_table.h.
bool is_unprintable(char32_t point);

/// A mark that is drawn over the character before it and takes no column.
bool is_mark(char32_t point);

/// The text as a terminal may show it. Bytes that are not UTF-8 and unprintable characters become
/// U+FFFD; so do marks without a character below them and the fifth and later marks of one. The
/// control characters in `kept` stay. At most `limit` bytes, cut at a character.
std::string printable(std::string_view text,
                      std::string_view kept = {},
                      std::size_t limit = std::string::npos);

}  // namespace gpuprobe::inline base
