// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline explain {

/// The meaning of some text, which a terminal shows as a color or a font weight.
enum class Tone { Plain, Strong, Good, Bad, Unsure, Faint };

/// The properties of a screen that determine how text is formatted.
struct Screen {
    std::size_t columns = 0;  ///< width in columns; 0 means unlimited, as for a pipe
    bool is_coloured = false;
    bool is_unicode = true;
    bool has_legend = true;  ///< whether titles and closing hints are shown
    bool is_terminal = false;

    [[nodiscard]] std::string_view ellipsis() const { return is_unicode ? "…" : "..."; }
    [[nodiscard]] std::string_view dot() const { return is_unicode ? " · " : " - "; }
    [[nodiscard]] std::string_view bullet() const { return is_unicode ? "•" : "*"; }
    [[nodiscard]] std::string_view dash() const { return is_unicode ? "–" : "-"; }
    [[nodiscard]] std::string_view micro() const { return is_unicode ? "µ" : "u"; }
};

/// The text in a tone if the screen has colors, otherwise the unchanged text.
std::string toned(const Screen& screen, Tone tone, std::string_view text);

/// A paragraph with a hanging indent: the first line begins with `lead`, and all other lines are
/// indented by the width of `lead`. Each line ends with a newline. `lead` may contain color;
/// `lead_width` is the visible width of `lead`. If there is little space to the right of `lead`,
/// the text starts on the next line.
std::string hanging(const Screen& screen,
                    std::string_view lead,
                    std::size_t lead_width,
                    std::string_view text,
                    Tone tone = Tone::Plain);

/// The paragraph for a fix, with a hanging indent. If the command does not fit on the line after
/// the words of the fix, the command is on a separate line without line breaks, so that users can
/// copy it. `command` is the position of the command in `fix`, or npos.
std::string hanging_fix(const Screen& screen,
                        std::string_view lead,
                        std::size_t lead_width,
                        std::string_view fix,
                        std::size_t command);

/// The parts of a text, separated by dots, on as many lines as needed. Each line begins with a
/// part. A part that is wider than a line is wrapped. `lead` has the same meaning as in hanging().
std::string hanging_parts(const Screen& screen,
                          std::string_view lead,
                          const std::vector<std::string>& parts);

/// The position of the command in text of the form "words: command"; npos if there is no command. A
/// string counts as a command if it contains no ", " and either begins with sudo or a program of
/// gpuprobe, or contains an option, a path or an assignment.
std::size_t command_in(std::string_view fix);

// The functions below compute how a terminal lays out UTF-8 text. The text must be valid UTF-8
// without control characters; an invalid byte counts as one column.

/// The width of the text on a terminal in columns: 0 for combining marks and for the color of
/// toned(), 2 for East Asian wide characters and emoji, 1 for all other characters. Source: Unicode
/// 15, EastAsianWidth.txt (W, F) and the Mn/Me/Cf blocks, by block.
std::size_t display_width(std::string_view text);

/// The text, cut to at most `columns` columns. If the text was cut, it ends with `mark`.
std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark);

/// The text padded with spaces to `columns` columns; longer text stays unchanged.
std::string padded_right(std::string_view text, std::size_t columns);

/// The text in lines of at most `columns` columns, broken at spaces. A word that is longer than a
/// line gets its own line. If `columns` is zero, lines have no maximum length. Returns at least one
/// line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// A table cell.
struct Cell {
    std::string text = {};
    Tone tone = Tone::Plain;
    bool operator==(const Cell&) const = default;
};

/// A table column and its behavior on a narrow screen.
struct Column {
    std::string title = {};
    bool is_right_aligned = false;
    /// Whether cells may be cut if different cells remain different.
    bool may_shrink = false;
    bool may_go = false;  ///< whether the column may be left out if all its cells are equal
};

/// A table: rows under titles, aligned by display width.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

    /// Adds a row, which must have as many cells as the table has columns. Control characters in a
    /// cell are replaced.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// The table as text. Each line ends with a newline and has no trailing spaces. If the screen
    /// is too narrow, the table leaves out columns with `may_go`, from right to left, then cuts the
    /// widest columns with `may_shrink`, and finally uses several lines for each row. A column is
    /// left out only if all its cells are equal.
    [[nodiscard]] std::string text(const Screen& screen, std::size_t indent = 0) const;

private:
    /// A column that is shown, and its width.
    struct Slot {
        std::size_t column = 0;
        std::size_t width = 0;
    };
    [[nodiscard]] std::size_t natural_width(std::size_t column, bool has_titles) const;
    [[nodiscard]] bool has_one_text(std::size_t column) const;
    [[nodiscard]] std::size_t least_width(const Slot& slot, const Screen& screen) const;
    [[nodiscard]] std::optional<std::vector<Slot>> layout(const Screen& screen,
                                                          std::size_t indent) const;
    void drop_columns(std::vector<Slot>& slots, const Screen& screen, std::size_t room) const;
    bool shrink_columns(std::vector<Slot>& slots, const Screen& screen, std::size_t room) const;
    [[nodiscard]] std::size_t count_keys() const;
    [[nodiscard]] std::string lines_of(const std::vector<Cell>& row,
                                       const Screen& screen,
                                       std::size_t indent) const;
    [[nodiscard]] std::string line(const std::vector<Cell>& row,
                                   const std::vector<Slot>& slots,
                                   const Screen& screen,
                                   std::size_t indent) const;

    std::vector<Column> columns_ = {};
    std::vector<std::vector<Cell>> rows_ = {};
};

}  // namespace gpuprobe::inline explain
