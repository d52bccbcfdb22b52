// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace value_json_test {

Result<Value> parsed(std::string_view text) {
    return parse_json(text, mib(1));
}

TEST(ParseJson, KeepsTheOrderOfMembers) {
    EXPECT_EQ(json_line(parsed(R"({"b":1,"a":[true,null,"x"]})").value()),
              R"({"b":1,"a":[true,null,"x"]})");
}

TEST(ParseJson, DistinguishesIntegersFromNumbers) {
    const auto value = parsed("[18446744073709551615, -1, 1.5, 7]").value();
    const auto& items = *value.as_array();
    EXPECT_EQ(items[0].as_unsigned(), 18446744073709551615u);
    EXPECT_EQ(items[0].as_int(), std::nullopt);
    EXPECT_EQ(items[1].as_int(), -1);
    EXPECT_EQ(items[1].as_unsigned(), std::nullopt);
    EXPECT_EQ(items[2].as_double(), 1.5);
    EXPECT_EQ(items[2].as_int(), std::nullopt);
    EXPECT_EQ(items[3], Value{7u});
}

struct Bad {
    const char* name;
    std::string text;
};
class ParseJsonRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(ParseJsonRefuses, AsMalformed) {
    const auto result = parsed(GetParam().text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Malformed);
    EXPECT_FALSE(result.error().text.empty());
}

INSTANTIATE_TEST_SUITE_P(Table,
                         ParseJsonRefuses,
                         ::testing::Values(Bad{"Nothing", ""},
                                           Bad{"TwoDocuments", "{} {}"},
                                           Bad{"ADuplicateKey", R"({"a":1,"a":2})"},
                                           Bad{"ATrailingComma", "[1,]"},
                                           Bad{"AnUnquotedKey", "{a:1}"},
                                           Bad{"InvalidUtf8", "\"\xff\""},
                                           Bad{"ALoneSurrogate", R"("\ud800")"},
                                           Bad{"AnEndlessNumber", "1e999"},
                                           Bad{"ANulByte", std::string("\0", 1)},
                                           Bad{"Utf16", std::string("\xff\xfe{\0}\0", 6)},
                                           Bad{"AByteOrderMark", "\xef\xbb\xbf\xef\xbb\xbf{}"},
                                           Bad{"TooManyLevels", std::string(100000, '[')}),
                         gpuprobe::support::case_name);

struct Placed {
    const char* name;
    std::string text;
    std::string problem;
};
class ParseJsonPlaces : public ::testing::TestWithParam<Placed> {};

TEST_P(ParseJsonPlaces, TheProblem) {
    const auto result = parsed(GetParam().text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text, GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ParseJsonPlaces,
    ::testing::Values(Placed{"KeyTwice", R"({"a":1,"a":2})", "a: a key appears twice"},
                      Placed{"KeyTwiceInside", R"({"a":[0,{"b":1,"c":{"d":1,"d":2}}]})",
                             "a[1].c.d: a key appears twice"},
                      Placed{"Value", R"({"a":{"b":nan}})", "a.b: not JSON at byte 12"},
                      Placed{"AtTheRoot", "{,", "not JSON at byte 2"},
                      Placed{"InAnArray", "[1,2,]", "[2]: not JSON at byte 6"},
                      Placed{"LongKeysAreCut", "{\"" + std::string(1000, 'k') + "\":x}",
                             std::string(64, 'k') + ": not JSON at byte 1005"}),
    support::case_name);

/// Objects with few keys and objects with many keys are compared in different ways.
TEST(ParseJson, RefusesAKeyTwiceHoweverManyThereAre) {
    std::string members;
    for (int i = 0; i < 40; ++i) {
        const auto key = [](int n) { return "\"k" + std::to_string(n) + "\":0"; };
        members += (i == 0 ? "" : ",") + key(i);
        ASSERT_TRUE(parsed("{" + members + "}"));
        for (int twin = 0; twin <= i; ++twin)
            EXPECT_FALSE(parsed("{" + members + "," + key(twin) + "}")) << i << " " << twin;
    }
}

TEST(ParseJson, AcceptsTheDeepestAllowedLevelAndNotOneMore) {
    const auto nested = [](int levels) {
        const auto count = static_cast<std::size_t>(levels);
        return std::string(count, '[') + std::string(count, ']');
    };
    EXPECT_TRUE(parsed(nested(kMaxJsonDepth)));
    EXPECT_FALSE(parsed(nested(kMaxJsonDepth + 1)));
}

TEST(ParseJson, RefusesEveryTruncationOfADocument) {
    const std::string whole = R"({"a":{"b":[1,2,{"c":"déf"}]},"d":null})";
    ASSERT_TRUE(parsed(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(parsed(whole.substr(0, length))) << length;
}

TEST(ParseJson, RefusesTextOverTheLimit) {
    EXPECT_TRUE(parse_json("[1]", Bytes{3}));
    EXPECT_EQ(parse_json("[1]", Bytes{2}).error().code, ErrorCode::TooLarge);
}

TEST(ParseJson, TakesTimeInProportionToTheNumberOfKeys) {
    std::string text = "{";
    for (int i = 0; i < 100000; ++i)
        text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
    // If the members were searched linearly for each key, this would take minutes with a sanitizer.
    EXPECT_EQ(parse_json(text + "}", mib(4)).value().as_object()->size(), 100000u);
    EXPECT_FALSE(parse_json(text + ",\"k7\":0}", mib(4)));
}

TEST(JsonLine, NeverFailsOnBytesThatAreNotUtf8) {
    EXPECT_EQ(json_line(Value{std::string{"a\xff"
                                          "b"}}),
              "\"a\xEF\xBF\xBD"
              "b\"");
}

TEST(Value, ComparesObjectsWithoutRegardToOrder) {
    EXPECT_EQ(parsed(R"({"a":1,"b":2})").value(), parsed(R"({"b":2,"a":1})").value());
    EXPECT_NE(parsed(R"({"a":1})").value(), parsed(R"({"a":1,"b":2})").value());
    EXPECT_NE(parsed(R"({"a":1})").value(), parsed("[1]").value());
}

TEST(Value, ComparesObjectsWithoutTheirOrderAndWithoutItsSquare) {
    Value forward{Value::Object{}};
    Value backward{Value::Object{}};
    constexpr int kMembers = 100'000;
    for (int i = 0; i < kMembers; ++i) {
        forward.as_object()->push_back({.key = std::to_string(i), .value = i});
        backward.as_object()->push_back(
            {.key = std::to_string(kMembers - 1 - i), .value = kMembers - 1 - i});
    }
    EXPECT_EQ(forward, backward);
    backward.as_object()->front().value = "another";
    EXPECT_NE(forward, backward);
    forward.as_object()->front().key = "another";
    EXPECT_NE(forward, backward);
}

}  // namespace value_json_test
}  // namespace gpuprobe
