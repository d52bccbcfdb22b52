// SPDX-License-Identifier: Apache-2.0
#include "calls/interface.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "calls/methods.h"
#include "wire/varlink.h"

namespace gpuprobe {
namespace interface_test {

struct Inner {
    std::optional<Bytes> size = {};
};
template <class Visitor>
void describe(Visitor& visit, Inner& inner) {
    visit("size", inner.size);
}
struct Outer {
    std::vector<std::optional<Inner>> items = {};
    std::map<std::string, double> by_name = {};
    std::optional<Value> any = {};
    bool flag = false;
};
template <class Visitor>
void describe(Visitor& visit, Outer& outer) {
    visit("items", outer.items);
    visit("by_name", outer.by_name);
    visit("any", outer.any);
    visit("flag", outer.flag);
}

TEST(VarlinkMembers, WritesTheMembersThatDescribeVisits) {
    TypeTable types;
    const auto members = types.members<Outer>();
    EXPECT_EQ(varlink_members(types, members),
              "(items: []Inner, by_name: [string]float, any: ?object, flag: bool)");
    EXPECT_EQ(varlink_definitions(types), "type Inner (size: ?int)\n\n");
}

enum class Colour { Red, LightBlue };
constexpr std::array<EnumName<Colour>, 2> names_of(Colour) {
    return {{{Colour::Red, "red"}, {Colour::LightBlue, "light-blue"}}};
}
struct Painted {
    Colour colour = Colour::Red;
};
RECORD_MEMBERS(Painted, colour)

TEST(VarlinkMembers, WritesStringForWordsThatAreNoNames) {
    TypeTable types;
    const auto members = types.members<Painted>();
    EXPECT_EQ(varlink_members(types, members), "(colour: string)");
    EXPECT_EQ(varlink_definitions(types), "");
}

TEST(InterfaceDescription, HasEachKeyOfARequest) {
    const auto text = interface_description(kInterface).value_or("");
    for (const auto keys : {select_keys(), recommend_keys()})
        for (const auto& key : keys) {
            std::string name{key.key};
            std::ranges::replace(name, '-', '_');
            EXPECT_NE(text.find("\n  " + name + ": ?"), std::string::npos) << name;
        }
}

TEST(InterfaceDescription, HasEachError) {
    const auto text = interface_description(kInterface).value_or("");
    for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code) {
        const auto name = bus::error_name(static_cast<ErrorCode>(code));
        EXPECT_NE(text.find("\nerror " + name.substr(name.rfind('.') + 1) + " ("),
                  std::string::npos)
            << name;
    }
}

TEST(WithTableKeys, TakesUnderscoresForDashes) {
    Value request;
    request["min_memory"] = 1;
    request["un_known"] = 2;
    const auto spelled = with_table_keys(request, select_keys());
    EXPECT_EQ(spelled.at("min-memory").as_int(), 1);
    EXPECT_EQ(spelled.at("un_known").as_int(), 2);
}

}  // namespace interface_test
}  // namespace gpuprobe
