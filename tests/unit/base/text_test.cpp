// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/character_table.h"
#include "base/value.h"

namespace gpuprobe {
namespace text_test {

const std::string kBad = "\xEF\xBF\xBD";

std::string utf8(char32_t point) {
    const auto tail = [point](unsigned shift) {
        return static_cast<char>(0x80 | ((point >> shift) & 0x3FU));
    };
    if (point < 0x80)
        return {static_cast<char>(point)};
    if (point < 0x800)
        return {static_cast<char>(0xC0 | (point >> 6U)), tail(0)};
    if (point < 0x10000)
        return {static_cast<char>(0xE0 | (point >> 12U)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (point >> 18U)), tail(12), tail(6), tail(0)};
}

bool is_surrogate(char32_t point) {
    return point >= 0xD800 && point <= 0xDFFF;
}

TEST(Characters, AreReadAsTheyAreWritten) {
    for (char32_t point = 0; point < 0x110000; ++point) {
        const auto character = first_character(utf8(point) + "x");
        if (is_surrogate(point)) {
            ASSERT_EQ(character.point, std::nullopt);
            continue;
        }
        ASSERT_TRUE(character.point == point && character.bytes == utf8(point).size())
            << static_cast<unsigned>(point);
    }
}

TEST(Printable, ReplacesEveryCharacterOfTheTable) {
    for (const auto& range : kUnprintable)
        for (auto point = range.first; point <= range.last; ++point)
            if (!is_surrogate(point)) {
                ASSERT_EQ(printable("a" + utf8(point) + "z"), "a" + kBad + "z")
                    << static_cast<unsigned>(point);
            }
}

TEST(Printable, KeepsEveryOtherCharacter) {
    for (char32_t point = 0; point < 0x110000; ++point)
        if (!is_surrogate(point) && !is_unprintable(point)) {
            const auto text = "a" + utf8(point) + "z";
            ASSERT_EQ(printable(text), text) << static_cast<unsigned>(point);
        }
}

TEST(Printable, KeepsControlsThatTheCallerNames) {
    EXPECT_EQ(printable("a\nb\tc\rd", "\n\t"), "a\nb\tc" + kBad + "d");
    EXPECT_EQ(printable("\n\n", "\n"), "\n\n");
}

TEST(Printable, PutsFewMarksOverOneCharacter) {
    const std::string mark = "\u0301";
    EXPECT_EQ(printable("e" + mark + mark + mark + mark), "e" + mark + mark + mark + mark);
    std::string tower = "e";
    for (int i = 0; i < 1000; ++i)
        tower += mark;
    EXPECT_EQ(printable(tower + "z"), "e" + mark + mark + mark + mark + kBad + "z");
    EXPECT_EQ(printable(mark + "e"), kBad + "e") << "a mark would go over what is before the text";
    EXPECT_EQ(printable("a\n" + mark, "\n"), "a\n" + kBad);
    EXPECT_EQ(printable(printable(tower)), printable(tower));
}

TEST(Printable, IsCutAtACharacter) {
    EXPECT_EQ(printable("aaé", {}, 4), "aaé");
    EXPECT_EQ(printable("aaé", {}, 3), "aa");
    EXPECT_EQ(printable("\xFF", {}, 2), "");
    EXPECT_EQ(printable("abc", {}, 2), "ab");
}

TEST(JsonText, EscapesCharactersThatAreUnsafeOnATerminal) {
    for (const auto& range : kUnprintable)
        for (auto point = range.first; point <= range.last; ++point) {
            if (is_surrogate(point))
                continue;
            const Value value{"a" + utf8(point) + "z"};
            const auto json = json_line(value);
            ASSERT_TRUE(std::ranges::all_of(json, [](char c) { return c >= ' ' && c <= '~'; }))
                << static_cast<unsigned>(point);
            ASSERT_EQ(parse_json(json, kib(1)).value(), value) << static_cast<unsigned>(point);
        }
    EXPECT_EQ(json_line(Value{"Größe\u202e"}), R"("Größe\u202e")");
    EXPECT_EQ(json_line(Value{"\U000E0041"}), R"("\udb40\udc41")");
    EXPECT_EQ(json_pretty(Value{"é\u2028"}), "\"é\\u2028\"\n");
}

}  // namespace text_test
}  // namespace gpuprobe
