// SPDX-License-Identifier: Apache-2.0
#include "explain/shell_quote.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

TEST(ShellQuote, LeavesSafeTextAsItIs) {
    for (const char* text : {"", "0", "GPU-8c3a-1", "/usr/share/vulkan/icd.d/nvidia_icd.json",
                             "10de:2335", "a,b", "x=y", "level_zero:0", "100%", "a+b@c"})
        EXPECT_EQ(shell_quoted(text), text);
}

TEST(ShellQuote, QuotesEverythingElse) {
    EXPECT_EQ(shell_quoted("a b"), "'a b'");
    EXPECT_EQ(shell_quoted("10de:2335!"), "'10de:2335!'");
    EXPECT_EQ(shell_quoted("$(reboot)"), "'$(reboot)'");
    EXPECT_EQ(shell_quoted("`id`"), "'`id`'");
    EXPECT_EQ(shell_quoted("~root"), "'~root'");
    EXPECT_EQ(shell_quoted("a;b"), "'a;b'");
    EXPECT_EQ(shell_quoted("a\\b"), "'a\\b'");
    EXPECT_EQ(shell_quoted("a\nb"), "'a\nb'");
    EXPECT_EQ(shell_quoted("µ"), "'µ'");
    EXPECT_EQ(shell_quoted("it's"), R"('it'"'"'s')");
    EXPECT_EQ(shell_quoted("'"), R"(''"'"'')");
}

}  // namespace
}  // namespace gpuprobe
