// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace value_test {

Value from(std::string_view json) {
    return parse_json(json, kib(4)).value();
}

/// Values in ascending order. Neighbors differ in all possible ways.
std::vector<Value> in_order() {
    std::vector<Value> values;
    for (const auto* json : {"null",
                             "false",
                             "true",
                             "-1",
                             "0",
                             "9223372036854775807",
                             "9223372036854775808",
                             "18446744073709551615",
                             "-0.5",
                             "0.5",
                             R"("")",
                             R"("a")",
                             R"("aa")",
                             R"("b")",
                             "[]",
                             "[null]",
                             "[1]",
                             "[1,1]",
                             "[2]",
                             "{}",
                             R"({"a":1})",
                             R"({"b":0,"a":1})",
                             R"({"a":1,"c":0})",
                             R"({"a":2})",
                             R"({"b":0})"})
        values.push_back(from(json));
    return values;
}

TEST(ValueOrder, IsTotalAndAgreesWithEquality) {
    const auto values = in_order();
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = 0; j < values.size(); ++j) {
            EXPECT_EQ(values[i] <=> values[j], i <=> j) << i << " " << j;
            EXPECT_EQ(values[i] == values[j], i == j);
        }
}

TEST(ValueOrder, IsThatOfTheContentWhateverTheOrderOfMembers) {
    EXPECT_EQ(from(R"({"a":1,"b":[{"x":1,"y":2}]})") <=> from(R"({"b":[{"y":2,"x":1}],"a":1})"),
              std::strong_ordering::equal);
}

TEST(ValueOrder, HasAPlaceForNaN) {
    const Value none{std::numeric_limits<double>::quiet_NaN()};
    EXPECT_EQ(none <=> none, std::strong_ordering::equal);
    EXPECT_NE(none <=> Value{1.5}, std::strong_ordering::equal);
    EXPECT_EQ(Value{-0.0} <=> Value{0.0}, std::strong_ordering::less);
}

TEST(ValueOrder, SortsToTheSameFromAnyShuffle) {
    auto shuffled = in_order();
    std::mt19937 random{1};
    for (int round = 0; round < 20; ++round) {
        std::ranges::shuffle(shuffled, random);
        std::ranges::sort(shuffled);
        EXPECT_EQ(shuffled, in_order());
    }
}

}  // namespace value_test
}  // namespace gpuprobe
