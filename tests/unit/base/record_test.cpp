// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/case_name.h"

namespace gpuprobe {

enum class Colour { Red, Green };
constexpr std::array<EnumName<Colour>, 2> names_of(Colour) {
    return {{{Colour::Red, "red"}, {Colour::Green, "green"}}};
}

struct Leaf {
    std::uint8_t size = 0;
    std::optional<Colour> colour = {};
    bool operator==(const Leaf&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Leaf& leaf) {
    visit("size", leaf.size);
    visit("colour", leaf.colour);
}

struct Tree {
    std::string name = {};
    std::vector<Leaf> leaves = {};
    std::map<std::string, Bytes> sizes = {};
    bool operator==(const Tree&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Tree& tree) {
    visit("name", tree.name);
    visit("leaves", tree.leaves);
    visit("sizes", tree.sizes);
}

namespace record_test {

Result<Tree> tree_from(std::string_view json) {
    return record_from<Tree>(parse_json(json, mib(1)).value());
}

TEST(Record, WritesEveryMemberAndNullForUnknownValues) {
    const Tree tree{.name = "oak", .leaves = {Leaf{.size = 3}}, .sizes = {{"x", Bytes{5}}}};
    EXPECT_EQ(json_line(to_value(tree)),
              R"({"name":"oak","leaves":[{"size":3,"colour":null}],"sizes":{"x":5}})");
}

TEST(Record, ReadsWhatItWrites) {
    const Tree tree{.name = "oak", .leaves = {Leaf{.size = 255, .colour = Colour::Green}, Leaf{}}};
    EXPECT_EQ(record_from<Tree>(to_value(tree)).value(), tree);
}

struct Bad {
    const char* name;
    const char* json;
    const char* error;
};
class RecordNames : public ::testing::TestWithParam<Bad> {};

TEST_P(RecordNames, TheMemberAtFault) {
    const auto tree = tree_from(GetParam().json);
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().code, ErrorCode::Malformed);
    EXPECT_EQ(tree.error().text, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    RecordNames,
    ::testing::Values(Bad{"Missing", R"({"leaves":[]})", "name: missing"},
                      Bad{"WrongType", R"({"name":1})", "name: expected string, found integer"},
                      Bad{"NoObject", "[]", "expected object, found array"},
                      Bad{"InAList", R"({"name":"","leaves":[{"size":1},{"size":"x"}]})",
                          "leaves[1].size: expected non-negative integer, found string"},
                      Bad{"OutOfRange", R"({"name":"","leaves":[{"size":256}]})",
                          "leaves[0].size: number out of range"},
                      Bad{"UnknownWord", R"({"name":"","leaves":[{"size":1,"colour":"blue"}]})",
                          "leaves[0].colour: unknown word"},
                      Bad{"InAMap", R"({"name":"","sizes":{"x":-1}})",
                          "sizes.x: expected non-negative integer, found integer"}),
    gpuprobe::support::case_name);

TEST(StrictRecord, RefusesAMemberItDoesNotKnow) {
    const auto value = parse_json(R"({"name":"oak","height":3})", mib(1)).value();
    EXPECT_TRUE(record_from<Tree>(value));
    EXPECT_EQ(strict_record_from<Tree>(value).error().text, "height: unknown member");
}

}  // namespace record_test
}  // namespace gpuprobe
