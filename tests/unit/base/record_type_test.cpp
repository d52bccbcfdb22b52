// SPDX-License-Identifier: Apache-2.0
#include "base/record_type.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace record_type_test {

using Kind = MemberType::Kind;

enum class Colour { Red, LightBlue };
constexpr std::array<EnumName<Colour>, 2> names_of(Colour) {
    return {{{Colour::Red, "red"}, {Colour::LightBlue, "light-blue"}}};
}
struct Leaf {
    std::optional<Bytes> size = {};
    Colour colour = Colour::Red;
};
RECORD_MEMBERS(Leaf, ("size_bytes", size), colour)
struct Tree {
    std::string name = {};
    std::vector<Leaf> leaves = {};
    std::map<std::string, int> heights = {};
    std::optional<Value> any = {};
    double weight = 0;
};
RECORD_MEMBERS(Tree, name, leaves, heights, any, weight)
constexpr auto forms_of(std::type_identity<Tree>) {
    return std::to_array<MemberForm>({{.key = "name", .pattern = kNotEmpty},
                                      {.key = "heights", .is_positive = true},
                                      {.key = "any", .object = "object"},
                                      {.key = "weight", .is_optional = true}});
}

TEST(TypeTable, HasTheMembersUnderTheirKeys) {
    TypeTable types;
    const auto members = types.members<Leaf>();
    ASSERT_EQ(members.size(), 2U);
    EXPECT_EQ(members[0].key, "size_bytes");
    EXPECT_EQ(members[0].record, "Leaf");
    ASSERT_EQ(members[0].type.kind, Kind::Nullable);
    EXPECT_EQ(members[0].type.item.at(0).kind, Kind::Integer);
    EXPECT_EQ(members[0].type.item.at(0).minimum, 0);
    EXPECT_EQ(members[1].type.kind, Kind::Words);
    EXPECT_EQ(members[1].type.name, "Colour");
}

TEST(TypeTable, DefinesEachNamedTypeOnce) {
    TypeTable types;
    types.members<Tree>();
    types.members<Tree>();
    ASSERT_EQ(types.definitions().size(), 2U);
    EXPECT_EQ(types.definitions()[0].name, "Leaf");
    EXPECT_EQ(types.definitions()[0].members.size(), 2U);
    ASSERT_NE(types.find("Colour"), nullptr);
    EXPECT_EQ(types.find("Colour")->words, (std::vector<std::string_view>{"red", "light-blue"}));
    EXPECT_EQ(types.find("Tree"), nullptr) << "only what its members refer to";
}

TEST(TypeTable, AppliesTheFormsOfAStruct) {
    TypeTable types;
    const auto members = types.members<Tree>();
    EXPECT_EQ(members.at(0).type.pattern, kNotEmpty);
    const auto& height = members.at(2).type.item.at(0);
    EXPECT_EQ(height.minimum, 0);
    EXPECT_TRUE(height.excludes_minimum);
    EXPECT_EQ(members.at(3).type.kind, Kind::Json) << "JSON is null by itself";
    EXPECT_EQ(members.at(3).type.name, "object");
    EXPECT_FALSE(members.at(3).is_optional);
    EXPECT_FALSE(members.at(4).type.minimum);
    EXPECT_TRUE(members.at(4).is_optional);
}

}  // namespace record_type_test
}  // namespace gpuprobe
