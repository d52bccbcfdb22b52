// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline explain {

/// What a piece of text means; a terminal shows it as colour or weight.
enum class Tone { Plain, Strong, Good, Bad, Unsure, Faint };

/// The place that text is written for.
struct Screen {
    std::size_t columns = 0;  ///< 0: unlimited, as for a pipe
    bool is_coloured = false;
    bool is_unicode = true;
    bool has_legend = true;  ///< titles and closing hints
    bool is_terminal = false;

    [[nodiscard]] std::string_view ellipsis() const { return is_unicode ? "…" : "..."; }
    [[nodiscard]] std::string_view dot() const { return is_unicode ? " · " : " - "; }
    [[nodiscard]] std::string_view bullet() const { return is_unicode ? "•" : "*"; }
    [[nodiscard]] std::string_view dash() const { return is_unicode ? "–" : "-"; }
    [[nodiscard]] std::string_view micro() const { return is_unicode ? "µ" : "u"; }
};

/// The text with that tone, where the screen has colour.
std::string toned(const Screen& screen, Tone tone, std::string_view text);

/// A paragraph that hangs below `lead`: the lead on the first line, the rest indented to its width.
/// Each line ends with a newline. `lead` may carry tone; `lead_width` is what it shows.
std::string hanging(const Screen& screen,
                    std::string_view lead,
                    std::size_t lead_width,
                    std::string_view text,
                    Tone tone = Tone::Plain);

/// The same of what helps: a command that does not fit behind its words stands below them,
/// unbroken, so that it can be copied. `command` is where it starts in `fix`; npos where there is
/// none.
std::string hanging_fix(const Screen& screen,
                        std::string_view lead,
                        std::size_t lead_width,
                        std::string_view fix,
                        std::size_t command);

/// Where the command starts in "words: command", or npos. Told from prose by having no ", ", and an
/// option, a path, an assignment or one of our programs or sudo in front.
std::size_t command_in(std::string_view fix);

// UTF-8 text as a terminal lays it out. Input is valid UTF-8 without control characters; a byte
// that is neither counts as one column.

/// Columns the text takes: 0 for combining marks, 2 for East Asian wide characters and emoji, 1 for
/// the rest. Source: Unicode 15, EastAsianWidth.txt (W, F) and the Mn/Me/Cf blocks, by block.
std::size_t display_width(std::string_view text);

/// The text in at most `columns` columns; where something had to go, it ends with `mark`.
std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark);

/// With spaces behind up to `columns` columns; longer text stays as it is.
std::string padded_right(std::string_view text, std::size_t columns);

/// Lines of at most `columns` columns, broken at spaces; a word that is longer stands alone.
/// Zero columns: no limit. Always at least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace gpuprobe::inline explain
