// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/screen.h"

namespace gpuprobe {
namespace table_test {

Table sample() {
    Table table{{{.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true}}};
    table.add({{.text = "0"},
               {.text = "NVIDIA GeForce RTX 4090"},
               {.text = "discrete"},
               {.text = "24.0 GiB"}});
    table.add({{.text = "1"}, {.text = "核显"}, {.text = "integrated"}, {.text = "512 MiB"}});
    return table;
}

TEST(Table, AlignsByDisplayWidth) {
    EXPECT_EQ(sample().text({}),
              "GPU  NAME                     KIND          MEMORY\n"
              "0    NVIDIA GeForce RTX 4090  discrete    24.0 GiB\n"
              "1    核显                     integrated   512 MiB\n");
}

TEST(Table, LeavesTitlesOutWithoutLegend) {
    EXPECT_EQ(sample().text({.has_legend = false}),
              "0  NVIDIA GeForce RTX 4090  discrete    24.0 GiB\n"
              "1  核显                     integrated   512 MiB\n");
}

TEST(Table, CutsShrinkableColumnsFirst) {
    EXPECT_EQ(sample().text({.columns = 42}),
              "GPU  NAME             KIND          MEMORY\n"
              "0    NVIDIA GeForce…  discrete    24.0 GiB\n"
              "1    核显             integrated   512 MiB\n");
}

/// Rows that differ at the end of a long name.
Table partitions() {
    Table table{{{.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true}}};
    for (const auto* profile : {"1g.10gb", "3g.40gb"})
        table.add({{.text = profile},
                   {.text = std::string{"NVIDIA H100 MIG "} + profile},
                   {.text = "discrete"},
                   {.text = "9.7 GiB"}});
    return table;
}

TEST(Table, DropsAColumnOfEqualCells) {
    EXPECT_EQ(partitions().text({.columns = 43}),
              "GPU      NAME                      MEMORY\n"
              "1g.10gb  NVIDIA H100 MIG 1g.10gb  9.7 GiB\n"
              "3g.40gb  NVIDIA H100 MIG 3g.40gb  9.7 GiB\n");
}

TEST(Table, KeepsDifferentCellsDifferent) {
    for (std::size_t columns = 20; columns < 60; ++columns) {
        auto text = partitions().text({.columns = columns});
        // A long cell is wrapped to several lines.
        for (std::size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;)
            text.replace(at, 5, " ");
        for (const auto* profile : {"MIG 1", "MIG 3"})
            EXPECT_NE(text.find(profile), std::string::npos) << text;
    }
}

TEST(Table, TakesSeveralLinesForARowThatDoesNotFit) {
    EXPECT_EQ(sample().text({.columns = 32}),
              "0\n"
              "    NAME NVIDIA GeForce RTX 4090\n"
              "    KIND discrete\n"
              "    MEMORY 24.0 GiB\n"
              "1\n"
              "    NAME 核显 · KIND integrated\n"
              "    MEMORY 512 MiB\n");
}

TEST(Table, NeverExceedsTheScreen) {
    for (std::size_t columns = 4; columns < 60; ++columns) {
        const auto text = sample().text({.columns = columns, .is_unicode = false});
        std::size_t start = 0;
        while (start < text.size()) {
            const auto end = text.find('\n', start);
            EXPECT_LE(end - start, columns + 2)
                << columns;  // two wide characters have three bytes each
            start = end + 1;
        }
    }
}

TEST(Table, ReplacesControlCharactersInCells) {
    Table table{{{.title = "NAME"}}};
    table.add({{.text = "evil\x1b[31m\n"}});
    EXPECT_EQ(table.text({.has_legend = false}).find('\x1b'), std::string::npos);
}

TEST(Table, ColoursCellsAndNotTheirPadding) {
    Table table{{{.title = "A"}, {.title = "B"}}};
    table.add({{.text = "x", .tone = Tone::Good}, {.text = "y"}});
    table.add({{.text = "xxx"}, {.text = "y"}});
    EXPECT_EQ(table.text({.is_coloured = true, .has_legend = false}),
              "\x1b[32mx\x1b[0m    y\nxxx  y\n");
}

}  // namespace table_test
}  // namespace gpuprobe
