// SPDX-License-Identifier: Apache-2.0
#include "cli/show_text.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace show_text_test {

std::string shown(const std::string& key, Value value) {
    FactList facts{"API cuda"};
    facts.add_members(Value{Value::Object{{key, std::move(value)}}});
    const auto text = facts.text(Screen{});
    const auto start = text.find(key) + key.size() + 2;
    return text.substr(start, text.find('\n', start) - start);
}

TEST(FactList, ShowsANumberWithTheUnitFromTheTableOfFacts) {
    EXPECT_EQ(shown("l2_cache", Value{std::uint64_t{62914560}}), "60 MiB");
    EXPECT_EQ(shown("clock_hz", Value{std::uint64_t{1980000000}}), "1.98 GHz");
    EXPECT_EQ(shown("managed_memory", Value{std::uint64_t{1}}), "1");
    EXPECT_EQ(shown("multiprocessors", Value{std::uint64_t{132}}), "132");
    EXPECT_EQ(shown("nobody_declares_this_memory", Value{std::uint64_t{1}}), "1");
}

/// A terminal would wrap a long line of JSON in the middle of a word.
TEST(FactList, ShowsAListOfObjectsInWords) {
    const Value bar{Value::Object{{"index", Value{std::uint64_t{0}}},
                                  {"io", Value{false}},
                                  {"name", Value{}},
                                  {"flags", Value{Value::Array{Value{"a"}, Value{"b"}}}}}};
    EXPECT_EQ(shown("bars", Value{Value::Array{bar, bar}}),
              "index 0, io no, flags a, b; index 0, io no, flags a, b");
    EXPECT_EQ(shown("queues", Value{Value::Array{Value{Value::Array{Value{"compute"}}},
                                                 Value{Value::Array{Value{"transfer"}}}}}),
              "compute; transfer");
}

}  // namespace show_text_test
}  // namespace gpuprobe
