// SPDX-License-Identifier: Apache-2.0
#include "explain/table.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "explain/screen.h"

namespace gpuprobe::inline explain {
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
