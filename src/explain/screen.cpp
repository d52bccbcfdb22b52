// SPDX-License-Identifier: Apache-2.0
#include "explain/screen.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "base/text.h"

namespace gpuprobe::inline explain {
namespace {

/// The escape sequence that starts a tone (ECMA-48, SGR).
std::string_view sgr(Tone tone) {
    switch (tone) {
        case Tone::Strong:
            return "\x1b[1m";
        case Tone::Good:
            return "\x1b[32m";
        case Tone::Bad:
            return "\x1b[31m";
        case Tone::Unsure:
            return "\x1b[33m";
        case Tone::Faint:
            return "\x1b[2m";
        case Tone::Plain:
            break;
    }
    return "";
}

/// A range of Unicode code points; both ends belong to the range.
struct Range {
    char32_t first;
    char32_t last;
};

constexpr std::array<Range, 11> kDoubleWidth = {{{0x1100, 0x115F},
                                                 {0x2E80, 0x303E},
                                                 {0x3041, 0x33FF},
                                                 {0x3400, 0x4DBF},
                                                 {0x4E00, 0x9FFF},
                                                 {0xA000, 0xA4CF},
                                                 {0xAC00, 0xD7A3},
                                                 {0xF900, 0xFAFF},
                                                 {0xFF00, 0xFF60},
                                                 {0x1F300, 0x1FAFF},
                                                 {0x20000, 0x3FFFD}}};

bool is_double_width(char32_t point) {
    return std::ranges::any_of(kDoubleWidth, [point](const Range& range) {
        return range.first <= point && point <= range.last;
    });
}

/// The display width of a character. A single byte is ASCII, or invalid, and takes one column.
std::size_t columns_of(const Utf8Character& character) {
    if (character.bytes == 1)
        return 1;
    if (is_mark(*character.point) || is_unprintable(*character.point))
        return 0;
    return is_double_width(*character.point) ? 2 : 1;
}

/// The length of the color sequence that the text starts with; 0 if there is no color sequence.
std::size_t colour_bytes(std::string_view text) {
    return text.starts_with("\x1b[") ? std::min(text.find('m'), text.size() - 1) + 1 : 0;
}

/// The length in bytes of the longest prefix of the text that fits into `columns`.
std::size_t fitting_bytes(std::string_view text, std::size_t columns) {
    std::size_t bytes = 0;
    std::size_t used = 0;
    while (bytes < text.size()) {
        const auto next = first_character(text.substr(bytes));
        if (used + columns_of(next) > columns)
            break;
        used += columns_of(next);
        bytes += next.bytes;
    }
    return bytes;
}

bool starts_a_command(std::string_view text) {
    return text.starts_with("sudo ") || text.starts_with("gpuprobectl ");
}

/// True if the text that follows a colon looks like a command (see command_in()).
bool is_command(std::string_view text) {
    return text.find(", ") == std::string_view::npos &&
           (starts_a_command(text) ||
            std::ranges::any_of(split(text, ' '), [](std::string_view word) {
                return word.starts_with('-') || word.starts_with('/') ||
                       word.find('=') != std::string_view::npos;
            }));
}

constexpr std::size_t kLeastRoom = 20;  ///< minimum width for the text of a paragraph
constexpr std::size_t kRowIndent = 4;   ///< indentation of the second line of a row or paragraph

/// The text without the spaces at its end.
std::string_view without_end_spaces(std::string_view text) {
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// A paragraph for a screen that is too narrow for text next to `lead`: the text begins on the line
/// below `lead`.
std::string below(const Screen& screen,
                  std::string_view lead,
                  std::size_t lead_width,
                  std::string_view text,
                  Tone tone) {
    const auto words = without_end_spaces(lead);
    const auto indent = std::min(lead_width, kRowIndent);
    std::string paragraph;
    if (!words.empty())
        paragraph += std::string{words} + "\n";
    for (const auto& line : wrapped(text, std::max(screen.columns, indent + 1) - indent))
        paragraph += std::string(indent, ' ') + toned(screen, tone, line) + "\n";
    return paragraph;
}

}  // namespace

std::string toned(const Screen& screen, Tone tone, std::string_view text) {
    if (!screen.is_coloured || tone == Tone::Plain || text.empty())
        return std::string{text};
    return std::string{sgr(tone)} + std::string{text} + "\x1b[0m";
}

std::string hanging(const Screen& screen,
                    std::string_view lead,
                    std::size_t lead_width,
                    std::string_view text,
                    Tone tone) {
    if (screen.columns != 0 && screen.columns < lead_width + kLeastRoom)
        return below(screen, lead, lead_width, text, tone);
    const std::size_t room = screen.columns == 0 ? 0 : screen.columns - lead_width;
    std::string paragraph;
    for (const auto& line : wrapped(text, room)) {
        paragraph += paragraph.empty() ? std::string{lead} : std::string(lead_width, ' ');
        paragraph += toned(screen, tone, line) + "\n";
    }
    return paragraph;
}

std::string hanging_fix(const Screen& screen,
                        std::string_view lead,
                        std::size_t lead_width,
                        std::string_view fix,
                        std::size_t command) {
    if (command > fix.size() || screen.columns == 0 ||
        lead_width + display_width(fix) <= screen.columns)
        return hanging(screen, lead, lead_width, fix);
    // The words of the fix are wrapped as usual, and the command follows on a new line.
    const auto words = trimmed(fix.substr(0, command));
    const auto start =
        words.empty() ? std::string{lead}
                      : hanging(screen, lead, lead_width, words) + std::string(lead_width, ' ');
    return start + std::string{fix.substr(command)} + "\n";
}

std::string hanging_parts(const Screen& screen,
                          std::string_view lead,
                          const std::vector<std::string>& parts) {
    const auto indent = display_width(lead);
    std::string text;
    std::string line;
    const auto end_line = [&] {
        const auto start = text.empty() ? std::string{lead} : std::string(indent, ' ');
        text += line.empty() ? "" : hanging(screen, start, indent, line);
    };
    for (const auto& part : parts) {
        const auto longer = line.empty() ? part : line + std::string{screen.dot()} + part;
        const bool fits = screen.columns == 0 || indent + display_width(longer) <= screen.columns;
        if (!line.empty() && !fits)
            end_line();
        line = line.empty() || fits ? longer : part;
    }
    end_line();
    return text;
}

std::size_t command_in(std::string_view fix) {
    if (starts_a_command(fix))
        return 0;
    const auto colon = fix.find(": ");
    return colon != std::string_view::npos && is_command(fix.substr(colon + 2))
               ? colon + 2
               : std::string_view::npos;
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        if (const auto colour = colour_bytes(text)) {
            text.remove_prefix(colour);
            continue;
        }
        const auto next = first_character(text);
        columns += columns_of(next);
        text.remove_prefix(next.bytes);
    }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark) {
    if (display_width(text) <= columns)
        return std::string{text};
    const std::size_t mark_width = display_width(mark);
    if (mark_width > columns)
        return std::string{text.substr(0, fitting_bytes(text, columns))};
    auto start = text.substr(0, fitting_bytes(text, columns - mark_width));
    // The mark follows the text without a space.
    while (start.ends_with(' '))
        start.remove_suffix(1);
    return std::string{start} + std::string{mark};
}

std::string padded_right(std::string_view text, std::size_t columns) {
    const std::size_t width = display_width(text);
    return std::string{text} + std::string(columns > width ? columns - width : 0, ' ');
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    if (columns == 0)
        return {std::string{text}};
    std::vector<std::string> lines(1);
    for (const auto word : words(text)) {
        auto& line = lines.back();
        // Start a new line, unless the current line is empty, because a long word is never broken.
        if (!line.empty() && display_width(line) + 1 + display_width(word) > columns)
            lines.emplace_back(word);
        else
            line += (line.empty() ? "" : " ") + std::string{word};
    }
    return lines;
}

namespace {

/// The text with each word cut to at most `columns` columns.
std::string with_words_cut(std::string_view text, std::size_t columns, std::string_view mark) {
    std::string cut;
    for (const auto word : words(text))
        cut += (cut.empty() ? "" : " ") + cut_to(word, columns, mark);
    return cut;
}

constexpr std::size_t kGap = 2;
constexpr std::size_t kMinShrunk = 12;

/// The text of a cell with its tone, padded to `width`.
std::string aligned(const Column& column,
                    const Screen& screen,
                    const Cell& cell,
                    std::size_t width) {
    const std::size_t taken = display_width(cell.text);
    const std::string space(width > taken ? width - taken : 0, ' ');
    const auto text = toned(screen, cell.tone, cell.text);
    return column.is_right_aligned ? space + text : text + space;
}

}  // namespace

void Table::add(std::vector<Cell> row) {
    assert(row.size() == columns_.size());
    for (auto& cell : row)
        cell.text = scrubbed(cell.text);
    rows_.push_back(std::move(row));
}

std::string Table::text(const Screen& screen, std::size_t indent) const {
    const auto fitting = layout(screen, indent);
    std::string lines;
    if (!fitting) {
        for (const auto& row : rows_)
            lines += lines_of(row, screen, indent);
        return lines;
    }
    const auto& slots = *fitting;
    if (screen.has_legend) {
        std::vector<Cell> titles;
        for (const auto& column : columns_)
            titles.push_back({.text = column.title, .tone = Tone::Faint});
        lines += line(titles, slots, screen, indent);
    }
    for (const auto& row : rows_)
        lines += line(row, slots, screen, indent);
    return lines;
}

/// The width of the widest cell in a column.
std::size_t Table::natural_width(std::size_t column, bool has_titles) const {
    std::size_t width = has_titles ? display_width(columns_[column].title) : 0;
    for (const auto& row : rows_)
        width = std::max(width, display_width(row[column].text));
    return width;
}

/// True if all cells of a column are equal.
bool Table::has_one_text(std::size_t column) const {
    return std::ranges::all_of(rows_, [&](const std::vector<Cell>& row) {
        return row[column].text == rows_.front()[column].text;
    });
}

/// The smallest width to which a column may be cut without making two different cells equal.
std::size_t Table::least_width(const Slot& slot, const Screen& screen) const {
    if (!columns_[slot.column].may_shrink || slot.width <= kMinShrunk)
        return slot.width;
    std::set<std::string> texts;
    for (const auto& row : rows_)
        texts.insert(row[slot.column].text);
    for (auto width = kMinShrunk; width < slot.width; ++width) {
        std::set<std::string> cut;
        for (const auto& text : texts)
            cut.insert(cut_to(text, width, screen.ellipsis()));
        if (cut.size() == texts.size())
            return width;
    }
    return slot.width;
}

/// The columns that fit on the screen, with their widths; nullopt if the rows do not fit on one
/// line.
std::optional<std::vector<Table::Slot>> Table::layout(const Screen& screen,
                                                      std::size_t indent) const {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        slots.push_back({.column = i, .width = natural_width(i, screen.has_legend)});
    // If the output goes to a pipe, lines have no maximum width, so nothing is cut.
    if (screen.columns == 0)
        return slots;
    const std::size_t room = screen.columns > indent ? screen.columns - indent : 1;
    drop_columns(slots, screen, room);
    return shrink_columns(slots, screen, room) ? std::optional{slots} : std::nullopt;
}

/// Removes columns until the remaining columns fit when they are shrunk as far as possible.
void Table::drop_columns(std::vector<Slot>& slots, const Screen& screen, std::size_t room) const {
    const auto least = [&] {
        std::size_t sum = kGap * (slots.size() - 1);
        for (const auto& slot : slots)
            sum += least_width(slot, screen);
        return sum;
    };
    while (least() > room) {
        // Remove the last column that may be removed.
        const auto last = std::find_if(slots.rbegin(), slots.rend(), [this](const Slot& slot) {
            return columns_[slot.column].may_go && has_one_text(slot.column);
        });
        if (last == slots.rend())
            return;
        slots.erase(std::next(last).base());
    }
}

/// Shrinks the widest column by one character at a time, so that wide columns become equally wide.
/// Returns false if the columns still do not fit.
bool Table::shrink_columns(std::vector<Slot>& slots, const Screen& screen, std::size_t room) const {
    std::size_t taken = kGap * (slots.size() - 1);
    std::vector<std::size_t> least;
    for (const auto& slot : slots) {
        taken += slot.width;
        least.push_back(least_width(slot, screen));
    }
    while (taken > room) {
        Slot* widest = nullptr;
        for (std::size_t i = 0; i < slots.size(); ++i)
            if (slots[i].width > least[i] && (!widest || slots[i].width > widest->width))
                widest = &slots[i];
        if (!widest)
            return false;
        --widest->width;
        --taken;
    }
    return true;
}

/// The number of columns at the left that identify the row.
std::size_t Table::count_keys() const {
    const auto first = std::ranges::find_if(
        columns_, [](const Column& column) { return column.may_shrink || column.may_go; });
    const bool is_key_alone = first == columns_.begin() || first == columns_.end();
    return is_key_alone ? 1 : static_cast<std::size_t>(first - columns_.begin());
}

/// Prints a row that is wider than the screen: the first line has the cells that identify the row,
/// and the lines below have the other cells with their titles.
std::string Table::lines_of(const std::vector<Cell>& row,
                            const Screen& screen,
                            std::size_t indent) const {
    const std::string inner(indent + kRowIndent, ' ');
    const auto room = std::max(screen.columns, inner.size() + 1) - inner.size();
    const auto fitted = [&](Tone tone, std::string_view text) {
        return toned(screen, tone, with_words_cut(text, room, screen.ellipsis()));
    };
    const auto keys = count_keys();
    std::string name;
    for (std::size_t i = 0; i < keys; ++i)
        name += (i == 0 ? "" : " ") + fitted(row[i].tone, row[i].text);
    std::vector<std::string> parts;
    for (std::size_t i = keys; i < row.size(); ++i)
        parts.push_back((screen.has_legend ? fitted(Tone::Faint, columns_[i].title) + " " : "") +
                        fitted(row[i].tone, row[i].text));
    return hanging(screen, inner.substr(0, indent), indent, name) +
           hanging_parts(screen, inner, parts);
}

std::string Table::line(const std::vector<Cell>& row,
                        const std::vector<Slot>& slots,
                        const Screen& screen,
                        std::size_t indent) const {
    std::string line(indent, ' ');
    for (const auto& slot : slots) {
        auto cell = row[slot.column];
        cell.text = cut_to(cell.text, slot.width, screen.ellipsis());
        line += std::string(&slot == &slots.front() ? 0 : kGap, ' ') +
                aligned(columns_[slot.column], screen, cell, slot.width);
    }
    return std::string{without_end_spaces(line)} + "\n";
}

}  // namespace gpuprobe::inline explain
