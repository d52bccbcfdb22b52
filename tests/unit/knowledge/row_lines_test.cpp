// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "knowledge/chips.h"

namespace gpuprobe::knowledge {
namespace row_lines_test {

enum class Shape { Round, Square };
constexpr auto names_of(Shape) {
    return std::to_array<EnumName<Shape>>({{Shape::Round, "round"}, {Shape::Square, "square"}});
}

struct Thing {
    std::string name = {};
    std::optional<Shape> shape = {};
    bool operator==(const Thing&) const = default;
};
RECORD_MEMBERS(Thing, name, shape)

constexpr const char* kDocument = R"({
"schema": "things/1",
"things": [
{"name": "a ball", "shape": "round"},
  {"name": "a cube", "colour": "red"}
],
"none": [
]
}
)";

TEST(DocumentLines, TellStringsAndRows) {
    const auto lines = DocumentLines::of(kDocument);
    ASSERT_TRUE(lines);
    EXPECT_EQ(*lines->members().find("schema"), "things/1");
    EXPECT_EQ(lines->members().find("things"), nullptr);
    EXPECT_EQ(rows_in<Thing>(*lines, "things"),
              (std::vector<Thing>{{.name = "a ball", .shape = Shape::Round}, {.name = "a cube"}}));
    EXPECT_TRUE(rows_in<Thing>(*lines, "none")->empty());
    EXPECT_FALSE(rows_in<Thing>(*lines, "others"));
}

/// Documents in which a string was replaced. Most of them are still valid JSON.
class OtherLines : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OtherLines, AreNotRead) {
    std::string text = kDocument;
    const auto [was, is] = GetParam();
    const auto at = text.find(was);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string_view{was}.size(), is);
    const auto lines = DocumentLines::of(text);
    EXPECT_FALSE(lines && rows_in<Thing>(*lines, "things") && rows_in<Thing>(*lines, "none"))
        << text;
}

INSTANTIATE_TEST_SUITE_P(Table,
                         OtherLines,
                         testing::Values(std::pair{"{\n", "{ "},
                                         std::pair{"\"things/1\"", "1"},
                                         std::pair{"\"things/1\",", "\"things/1\""},
                                         std::pair{"\"round\"},", "\"round\"}"},
                                         std::pair{"\"red\"}", "\"red\"},"},
                                         std::pair{"\"red\"}", "\"red\"},\n,"},
                                         std::pair{"],\n\"none\"", "]\n\"none\""},
                                         std::pair{"[\n]\n}", "[\n],\n}"},
                                         std::pair{"]\n}", "]\n},"},
                                         std::pair{"{\n\"schema\"", "{,\n\"schema\""},
                                         std::pair{"\"things\": [", "\"things\": [,"},
                                         std::pair{"\"schema\"", "\"things\""},
                                         std::pair{"a ball", "a \\u0062all"},
                                         std::pair{"a ball", "a \xc3\xa9"},
                                         std::pair{"a ball", "a\tball"},
                                         std::pair{"\"round\"", "\"flat\""},
                                         std::pair{"\"round\"", "null"},
                                         std::pair{"\"round\"", "\"round"},
                                         std::pair{"\"round\"}", "\"round\""},
                                         std::pair{"\"shape\"", "\"name\""},
                                         std::pair{"\"name\": \"a cube\", ", ""},
                                         std::pair{": \"a ball\"", ":\"a ball\""},
                                         std::pair{"\"none\": [\n]", "\"none\": []"},
                                         std::pair{"\"none\": [\n]", "\"things\": [\n]"},
                                         std::pair{"\"none\": [\n]\n}", "\"none\": [\n"},
                                         std::pair{"]\n}", "]\n} x"},
                                         std::pair{"\"none\"", "none"},
                                         std::pair{"\"none\": [\n]\n}", ""}));

TEST(DocumentLines, EndWhereTheTextEnds) {
    for (std::string_view text = kDocument; !text.empty(); text.remove_suffix(1))
        (void)DocumentLines::of(text);
    EXPECT_FALSE(DocumentLines::of(""));
    EXPECT_FALSE(DocumentLines::of("{"));
}

}  // namespace row_lines_test
}  // namespace gpuprobe::knowledge
