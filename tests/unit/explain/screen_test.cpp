// SPDX-License-Identifier: Apache-2.0
#include "explain/screen.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace screen_test {

TEST(TextWidth, CountsColumnsAndNotBytes) {
    EXPECT_EQ(display_width(""), 0U);
    EXPECT_EQ(display_width("NVIDIA H200"), 11U);
    EXPECT_EQ(display_width("é…µ"), 3U);
    EXPECT_EQ(display_width("e\u0301"), 1U);  // a combining accent
    EXPECT_EQ(display_width("显卡"), 4U);
    EXPECT_EQ(display_width("🖥"), 2U);
}

TEST(TextWidth, TakesBytesThatAreNoUtf8AsOneColumnEach) {
    EXPECT_EQ(display_width("\xff\xfe"), 2U);
    EXPECT_EQ(display_width("a\xe2\x80"), 3U);  // cut in the middle of a character
}

TEST(TextWidth, CutsAtACharacterAndMarksTheCut) {
    EXPECT_EQ(cut_to("NVIDIA H200", 11, "…"), "NVIDIA H200");
    EXPECT_EQ(cut_to("NVIDIA H200", 10, "…"), "NVIDIA H2…");
    EXPECT_EQ(cut_to("NVIDIA H200", 8, "…"), "NVIDIA…");  // no space before the mark
    EXPECT_EQ(cut_to("NVIDIA H200", 8, "..."), "NVIDI...");
    EXPECT_EQ(cut_to("显卡驱动", 5, "…"), "显卡…");
    EXPECT_EQ(cut_to("显卡驱动", 4, "…"), "显…");  // there is no space for half a wide character
    EXPECT_EQ(cut_to("abc", 0, "…"), "");
    EXPECT_EQ(cut_to("abcdef", 2, "..."), "ab");
}

TEST(TextWidth, PadsToColumns) {
    EXPECT_EQ(padded_right("ab", 4), "ab  ");
    EXPECT_EQ(padded_right("显", 4), "显  ");
    EXPECT_EQ(padded_right("abcd", 2), "abcd");
}

TEST(TextWidth, WrapsAtSpaces) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(wrapped("one two three", 8), (Lines{"one two", "three"}));
    EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
    EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
    EXPECT_EQ(wrapped("a extraordinarily b", 5), (Lines{"a", "extraordinarily", "b"}));
    EXPECT_EQ(wrapped("", 10), (Lines{""}));
    EXPECT_EQ(wrapped("no limit at all", 0), (Lines{"no limit at all"}));
}

TEST(TextWidth, DoesNotCountColours) {
    const Screen screen{.is_coloured = true};
    EXPECT_EQ(display_width(toned(screen, Tone::Good, "cuda")), 4U);
    EXPECT_EQ(display_width("\x1b["), 0U);  // cut in the middle
}

TEST(Hanging, StartsBelowAWideLead) {
    EXPECT_EQ(hanging(Screen{.columns = 40}, "  vulkan, webgpu, opencl  ", 26, "not probed"),
              "  vulkan, webgpu, opencl\n"
              "    not probed\n");
}

TEST(HangingParts, BeginEachLineWithAPart) {
    const std::vector<std::string> parts{"VRAM 24 GiB", "driver nvidia", "APIs cuda vulkan"};
    EXPECT_EQ(hanging_parts(Screen{.columns = 32}, "  ", parts),
              "  VRAM 24 GiB · driver nvidia\n"
              "  APIs cuda vulkan\n");
    EXPECT_EQ(hanging_parts(Screen{}, "", parts),
              "VRAM 24 GiB · driver nvidia · APIs cuda vulkan\n");
    EXPECT_EQ(hanging_parts(Screen{}, "  ", {}), "");
}

TEST(HangingFix, NeverBreaksACommand) {
    const Screen narrow{.columns = 40};
    const std::string_view fix =
        "install a manifest that names the EGL library: sed s/a/b/ /a/long/path | sudo tee /b";
    EXPECT_EQ(hanging_fix(narrow, "  * ", 4, fix, command_in(fix)),
              "  * install a manifest that names the\n"
              "    EGL library:\n"
              "    sed s/a/b/ /a/long/path | sudo tee /b\n");
    EXPECT_EQ(hanging_fix(Screen{.columns = 100}, "  * ", 4, fix, command_in(fix)),
              "  * " + std::string{fix} + "\n");
    EXPECT_EQ(hanging_fix(Screen{}, "  * ", 4, fix, command_in(fix)),
              "  * " + std::string{fix} + "\n");
}

TEST(CommandIn, DistinguishesCommandsFromProse) {
    constexpr auto kNone = std::string_view::npos;
    EXPECT_EQ(command_in("sudo nvidia-modprobe -u -c0"), 0U);
    EXPECT_EQ(command_in("probe the drivers: gpuprobectl probe"), 19U);
    EXPECT_EQ(command_in("see: CUDA_VISIBLE_DEVICES= program"), 5U);
    EXPECT_EQ(command_in("a bug of the driver: update it, or remove its manifest /a/b"), kNone);
    EXPECT_EQ(command_in("update the driver"), kNone);
    EXPECT_EQ(command_in(""), kNone);
}

}  // namespace screen_test
}  // namespace gpuprobe
