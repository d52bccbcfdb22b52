// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/screen.h"

namespace gpuprobe::inline explain {

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
    bool may_shrink = false;  ///< may be cut if the screen is too narrow
    bool may_go = false;      ///< may be left out if cutting does not suffice
};

/// A table: rows under titles, aligned by display width.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

    /// Adds a row with as many cells as there are columns. Control characters in a cell are
    /// replaced.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// The table as text. Each line ends with a newline and has no trailing spaces. If the screen
    /// is too narrow: first, columns with `may_go` are left out, from the right; then the widest
    /// columns with `may_shrink` are cut; last, the end of each line is cut.
    [[nodiscard]] std::string text(const Screen& screen, std::size_t indent = 0) const;

private:
    /// A visible column and its width.
    struct Slot {
        std::size_t column = 0;
        std::size_t width = 0;
    };
    [[nodiscard]] std::size_t natural_width(std::size_t column, bool has_titles) const;
    [[nodiscard]] std::vector<Slot> layout(const Screen& screen, std::size_t indent) const;
    void drop_columns(std::vector<Slot>& slots, std::size_t room) const;
    void shrink_columns(std::vector<Slot>& slots, std::size_t room) const;
    [[nodiscard]] std::string line(const std::vector<Cell>& row,
                                   const std::vector<Slot>& slots,
                                   const Screen& screen,
                                   std::size_t indent) const;

    std::vector<Column> columns_ = {};
    std::vector<std::vector<Cell>> rows_ = {};
};

}  // namespace gpuprobe::inline explain
