// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/screen.h"

namespace gpuprobe::inline explain {

struct Cell {
    std::string text = {};
    Tone tone = Tone::Plain;
    bool operator==(const Cell&) const = default;
};

struct Column {
    std::string title = {};
    bool is_right_aligned = false;
    bool may_shrink = false;  ///< is cut when the screen is too narrow
    bool may_go = false;      ///< is left out when cutting is not enough
};

/// Rows under titles, aligned by display width.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

    /// As many cells as columns. Control characters in a cell are replaced.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Each line ends with a newline, none with a space. Where the screen is too narrow, columns
    /// that may go are left out from the right, the widest that may shrink are cut, and at last the
    /// end of the line.
    [[nodiscard]] std::string text(const Screen& screen, std::size_t indent = 0) const;

private:
    /// A column that takes part, and how wide it is.
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
