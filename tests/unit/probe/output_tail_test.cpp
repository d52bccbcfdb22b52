// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "probe/worker_answer.h"

namespace gpuprobe {
namespace output_tail_test {

using Lines = std::vector<std::string>;

TEST(OutputTail, KeepsLinesAcrossPieces) {
    OutputTail tail;
    tail.add("one\ntw");
    tail.add("o\n\n  three");
    EXPECT_EQ(tail.lines(), (Lines{"one", "two", "three"}));
}

TEST(OutputTail, KeepsTheLastOfAFlood) {
    OutputTail tail;
    for (int i = 0; i < 1000; ++i)
        tail.add(std::string(1000, 'x') + "\n");
    tail.add("the end");
    ASSERT_FALSE(tail.lines().empty());
    EXPECT_LE(tail.lines().size(), 6U);
    EXPECT_EQ(tail.lines().back(), "the end");
}

TEST(OutputTail, KeepsAtMost32Lines) {
    OutputTail tail;
    for (int i = 0; i < 100; ++i)
        tail.add(std::to_string(i) + "\n");
    EXPECT_EQ(tail.lines().size(), 32U);
    EXPECT_EQ(tail.lines().front(), "68");
}

TEST(OutputTail, ScrubsControlCharacters) {
    OutputTail tail;
    tail.add("\x1b[31mred\xff\n");
    EXPECT_EQ(tail.lines(), Lines{"\uFFFD[31mred\uFFFD"});
}

TEST(OutputTail, IsEmptyWhenNothingWasPrinted) {
    EXPECT_TRUE(OutputTail{}.lines().empty());
}

}  // namespace output_tail_test
}  // namespace gpuprobe
