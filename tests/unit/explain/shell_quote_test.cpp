// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/phrase.h"

namespace gpuprobe {
namespace shell_quote_test {

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
    EXPECT_EQ(shell_quoted("a\\b"), R"('a'"\\"'b')");
    EXPECT_EQ(shell_quoted("=ls"), "'=ls'");
    EXPECT_EQ(shell_quoted("a:=ls"), "'a:=ls'");
    EXPECT_EQ(shell_quoted("a\nb"), "'a\nb'");
    EXPECT_EQ(shell_quoted("µ"), "'µ'");
    EXPECT_EQ(shell_quoted("it's"), R"('it'"'"'s')");
    EXPECT_EQ(shell_quoted("'"), R"(''"'"'')");
}

TEST(CommandWord, LeavesUsualValuesAsTheyAre) {
    for (const char* text : {"render", "/dev/dri/renderD128", "0000:01:00.0", "nvidia_drm", "x=y",
                             "libcudart.so.12", "Größe", "ttm.pages_limit=24379392"})
        EXPECT_EQ(command_word(text), text);
}

TEST(CommandWord, EscapesSpecialCharactersOfShells) {
    EXPECT_EQ(command_word("a b"), "'a b'");
    EXPECT_EQ(command_word("xe.force_probe=!e20b"), "'xe.force_probe=!e20b'");
    EXPECT_EQ(command_word("a b;"), R"(a\ b\;)");
    EXPECT_EQ(command_word("$(reboot)"), R"(\$\(reboot\))");
    EXPECT_EQ(command_word("`id`"), R"(\`id\`)");
    EXPECT_EQ(command_word("it's"), R"(it\'s)");
    EXPECT_EQ(command_word("\"\\"), R"(\"\\)");
    EXPECT_EQ(command_word("~root"), R"(\~root)");
    EXPECT_EQ(command_word("=ls"), R"(\=ls)");
    EXPECT_EQ(command_word("a;b|c&d!e*f?g#h"), R"(a\;b\|c\&d\!e\*f\?g\#h)");
}

TEST(CommandWord, IsEmptyForValuesThatWouldChangeTheCommand) {
    for (const char* text : {"", "-x", "--help", "a\nb", "a\tb", "\x1b[31m", "a\u202eb", "\xFF"})
        EXPECT_EQ(command_word(text), std::nullopt);
    EXPECT_EQ(command_word(std::string(5000, 'x')), std::nullopt);
}

}  // namespace shell_quote_test
}  // namespace gpuprobe
