// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// UTF-8 text as a terminal lays it out. Input is valid UTF-8 without control characters; a byte
/// that is neither counts as one column.
namespace gpuprobe {

/// Columns the text takes: 0 for combining marks, 2 for East Asian wide characters and emoji, 1 for
/// the rest. Source: Unicode 15, EastAsianWidth.txt (W, F) and the Mn/Me/Cf blocks, by block.
std::size_t display_width(std::string_view text);

/// The text in at most `columns` columns; where something had to go, it ends with `mark`.
std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark);

/// With spaces behind it up to `columns` columns; longer text stays as it is.
std::string padded_right(std::string_view text, std::size_t columns);

/// Lines of at most `columns` columns, broken at spaces; a word that is longer stands alone.
/// Zero columns: no limit. Always at least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace gpuprobe
