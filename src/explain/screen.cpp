// SPDX-License-Identifier: Apache-2.0
#include "explain/screen.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/text.h"

namespace gpuprobe::inline explain {
namespace {

/// The start sequence of a tone: SGR parameters of ECMA-48.
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

/// A range of code points, with both ends.
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

/// The length in bytes of the longest prefix that fits.
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

/// True if the text after a colon looks like a command (see command_in()).
bool is_command(std::string_view text) {
    return text.find(", ") == std::string_view::npos &&
           (starts_a_command(text) ||
            std::ranges::any_of(split(text, ' '), [](std::string_view word) {
                return word.starts_with('-') || word.starts_with('/') ||
                       word.find('=') != std::string_view::npos;
            }));
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
    // With under 20 columns for the text, leave wrapping to the terminal.
    const std::size_t room = screen.columns > lead_width + 20 ? screen.columns - lead_width : 0;
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
    // The words are wrapped as usual, and the command follows on a new line.
    const auto words = trimmed(fix.substr(0, command));
    const auto start =
        words.empty() ? std::string{lead}
                      : hanging(screen, lead, lead_width, words) + std::string(lead_width, ' ');
    return start + std::string{fix.substr(command)} + "\n";
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
    // No space before the mark.
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
        // Start a new line, unless this one is still empty: a long word is never broken.
        if (!line.empty() && display_width(line) + 1 + display_width(word) > columns)
            lines.emplace_back(word);
        else
            line += (line.empty() ? "" : " ") + std::string{word};
    }
    return lines;
}

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kMinShrunk = 12;

/// The cell's text with its tone, padded to `width`.
std::string aligned(const Column& column,
                    const Screen& screen,
                    const Cell& cell,
                    std::size_t width) {
    const std::size_t taken = display_width(cell.text);
    const std::string space(width > taken ? width - taken : 0, ' ');
    const auto text = toned(screen, cell.tone, cell.text);
    return column.is_right_aligned ? space + text : text + space;
}

std::string without_end_spaces(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

}  // namespace

void Table::add(std::vector<Cell> row) {
    assert(row.size() == columns_.size());
    for (auto& cell : row)
        cell.text = scrubbed(cell.text);
    rows_.push_back(std::move(row));
}

std::string Table::text(const Screen& screen, std::size_t indent) const {
    const auto slots = layout(screen, indent);
    std::string lines;
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

/// The columns that fit the screen, with their widths.
std::vector<Table::Slot> Table::layout(const Screen& screen, std::size_t indent) const {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        slots.push_back({.column = i, .width = natural_width(i, screen.has_legend)});
    // A pipe has no width: nothing is cut.
    if (screen.columns == 0)
        return slots;
    const std::size_t room = screen.columns > indent ? screen.columns - indent : 1;
    drop_columns(slots, room);
    shrink_columns(slots, room);
    return slots;
}

/// Removes columns until the rest would fit if it were shrunk as far as allowed.
void Table::drop_columns(std::vector<Slot>& slots, std::size_t room) const {
    const auto least = [&] {
        std::size_t sum = kGap * (slots.size() - 1);
        for (const auto& slot : slots)
            sum += columns_[slot.column].may_shrink ? std::min(slot.width, kMinShrunk) : slot.width;
        return sum;
    };
    while (least() > room) {
        // Remove the last column that may be removed.
        const auto last = std::find_if(slots.rbegin(), slots.rend(), [this](const Slot& slot) {
            return columns_[slot.column].may_go;
        });
        if (last == slots.rend())
            return;
        slots.erase(std::next(last).base());
    }
}

/// Takes one character at a time from the widest column, so that wide columns get equally wide.
void Table::shrink_columns(std::vector<Slot>& slots, std::size_t room) const {
    std::size_t taken = kGap * (slots.size() - 1);
    for (const auto& slot : slots)
        taken += slot.width;
    while (taken > room) {
        Slot* widest = nullptr;
        for (auto& slot : slots)
            if (columns_[slot.column].may_shrink && slot.width > kMinShrunk &&
                (!widest || slot.width > widest->width))
                widest = &slot;
        // No column can shrink any further; line() cuts the end of the lines.
        if (!widest)
            return;
        --widest->width;
        --taken;
    }
}

std::string Table::line(const std::vector<Cell>& row,
                        const std::vector<Slot>& slots,
                        const Screen& screen,
                        std::size_t indent) const {
    std::string line(indent, ' ');
    std::size_t used = indent;
    for (const auto& slot : slots) {
        // If shrinking did not suffice, cut the last cell and drop cells that start beyond the
        // screen.
        const bool is_first = used == indent;
        const std::size_t gap = is_first ? 0 : kGap;
        if (screen.columns != 0 && used + gap >= screen.columns)
            break;
        const std::size_t left = screen.columns == 0 ? slot.width : screen.columns - used - gap;
        const std::size_t width = std::min(slot.width, left);
        auto cell = row[slot.column];
        cell.text = cut_to(cell.text, width, screen.ellipsis());
        line += std::string(gap, ' ') + aligned(columns_[slot.column], screen, cell, width);
        used += gap + width;
    }
    return without_end_spaces(std::move(line)) + "\n";
}

}  // namespace gpuprobe::inline explain
