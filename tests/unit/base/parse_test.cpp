// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace parse_test {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
    EXPECT_EQ(parse_number<std::uint8_t>("255"), 255);
    EXPECT_EQ(parse_number<int>("-3"), -3);
    for (const auto* bad : {"", " 1", "1 ", "256", "-1", "+1", "0x1", "1a"})
        EXPECT_EQ(parse_number<std::uint8_t>(bad), std::nullopt) << bad;
}

TEST(ParseHex, AllowsThePrefixOnce) {
    EXPECT_EQ(parse_hex<std::uint16_t>("0x10de"), 0x10de);
    EXPECT_EQ(parse_hex<std::uint16_t>("10DE"), 0x10de);
    for (const auto* bad : {"", "0x", "0x0x1", "10dez", "10000"})
        EXPECT_EQ(parse_hex<std::uint16_t>(bad), std::nullopt) << bad;
}

TEST(Words, SkipsEveryKindOfSpace) {
    EXPECT_EQ(words(" a\tb\n\nc "), (std::vector<std::string_view>{"a", "b", "c"}));
    EXPECT_TRUE(words(" \n").empty());
}

TEST(Split, KeepsEmptyPieces) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
}

struct Case {
    const char* name;
    std::string raw;
    std::string clean;
};
class Scrubbed : public ::testing::TestWithParam<Case> {};

TEST_P(Scrubbed, IsFitForABus) {
    EXPECT_EQ(scrubbed(GetParam().raw), GetParam().clean);
}

const std::string kBad = "\xEF\xBF\xBD";
INSTANTIATE_TEST_SUITE_P(
    Table,
    Scrubbed,
    ::testing::Values(Case{"PlainText", "NVIDIA H200", "NVIDIA H200"},
                      Case{"Accents", "Größe", "Größe"},
                      Case{"FourByteCharacter", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
                      Case{"ALoneByte", "a\xFFz", "a" + kBad + "z"},
                      Case{"AnOverlongSlash", "\xC0\xAF", kBad + kBad},
                      Case{"ASurrogate", "\xED\xA0\x80", kBad + kBad + kBad},
                      Case{"AboveUnicode", "\xF4\x90\x80\x80", kBad + kBad + kBad + kBad},
                      Case{"ACutCharacter", "a\xE2\x82", "a" + kBad + kBad},
                      Case{"AnEscapeSequence", "\x1b[31mred", kBad + "[31mred"},
                      Case{"ANewline", "a\nb", "a" + kBad + "b"},
                      Case{"AnOverride",
                           "a\xE2\x80\xAE"
                           "b",
                           "a" + kBad + "b"},
                      Case{"ANulByte", std::string("a\0b", 3), "a" + kBad + "b"}),
    gpuprobe::support::case_name);

TEST(ScrubbedText, IsCutAtACharacter) {
    EXPECT_EQ(scrubbed("aaé", 4), "aaé");
    EXPECT_EQ(scrubbed("aaé", 3), "aa");
    EXPECT_EQ(scrubbed("\xFF", 2), "");
}

TEST(ScrubbedText, SurvivesACutAtEveryByte) {
    const std::string text = "aé€\xF0\x9F\x98\x80z";
    for (std::size_t length = 0; length <= text.size(); ++length)
        EXPECT_LE(scrubbed(text.substr(0, length)).size(), 3 * length + 3);
}

TEST(ValueOfLine, IsThatOfTheFirstLineWithTheKey) {
    constexpr std::string_view kText = "Name:\tx: y\nPPid:\t 42 \nPPid: 7\nno colon\n";
    EXPECT_EQ(value_of_line(kText, "PPid"), "42");
    EXPECT_EQ(value_of_line(kText, "Name"), "x: y");
    EXPECT_EQ(value_of_line(kText, "Pid"), std::nullopt);
    EXPECT_EQ(value_of_line("", ""), std::nullopt);
}

TEST(Words, AreFoundWhole) {
    EXPECT_TRUE(contains({"cuda", "hip"}, "hip"));
    EXPECT_FALSE(contains({"cuda", "hip"}, "hi"));
    EXPECT_FALSE(contains({}, ""));
}

TEST(Words, AreJoined) {
    EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
    EXPECT_EQ(joined(std::vector<std::string>{"a"}, ", "), "a");
    EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
}

}  // namespace parse_test
}  // namespace gpuprobe
