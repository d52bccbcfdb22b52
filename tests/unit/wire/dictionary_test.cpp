// SPDX-License-Identifier: Apache-2.0
#include "wire/dictionary.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/case_name.h"

namespace gpuprobe::bus {
namespace dictionary_test {

using sdbus::Variant;

/// Variants are made within the tests: they may not outlive what the library ends at exit.
struct Received {
    const char* name;
    Variant (*variant)();
    const char* json;  ///< the value, or nullptr for InvalidRequest
};
class ValueFrom : public ::testing::TestWithParam<Received> {};

TEST_P(ValueFrom, ReadsTheTypesThatClientsSend) {
    const auto value = value_from(GetParam().variant());
    if (GetParam().json == nullptr) {
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().code, ErrorCode::InvalidRequest);
        return;
    }
    ASSERT_TRUE(value) << value.error().text;
    EXPECT_EQ(json_line(*value), GetParam().json);
}

Dictionary nested(int levels) {
    Dictionary dictionary;
    if (levels > 1)
        dictionary.emplace("in", Variant{nested(levels - 1)});
    return dictionary;
}

Variant wrapped(int levels) {
    return levels == 0 ? Variant{true} : Variant{std::vector<Variant>{wrapped(levels - 1)}};
}

INSTANTIATE_TEST_SUITE_P(
    Good,
    ValueFrom,
    ::testing::Values(
        Received{"Boolean", [] { return Variant{true}; }, "true"},
        Received{"Byte", [] { return Variant{std::uint8_t{255}}; }, "255"},
        Received{"Int16", [] { return Variant{std::int16_t{-7}}; }, "-7"},
        Received{"Uint16", [] { return Variant{std::uint16_t{7}}; }, "7"},
        Received{"Int32", [] { return Variant{std::int32_t{-70000}}; }, "-70000"},
        Received{"Uint32", [] { return Variant{std::uint32_t{4000000000}}; }, "4000000000"},
        Received{"Int64", [] { return Variant{std::int64_t{-1} << 40}; }, "-1099511627776"},
        Received{"Uint64", [] { return Variant{std::numeric_limits<std::uint64_t>::max()}; },
                 "18446744073709551615"},
        Received{"Double", [] { return Variant{0.5}; }, "0.5"},
        Received{"Text", [] { return Variant{std::string{"cuda"}}; }, "\"cuda\""},
        Received{"Path", [] { return Variant{sdbus::ObjectPath{"/a"}}; }, "\"/a\""},
        Received{"Strings",
                 [] {
                     return Variant{std::vector<std::string>{"a", "b"}};
                 },
                 "[\"a\",\"b\"]"},
        Received{"Paths",
                 [] { return Variant{std::vector<sdbus::ObjectPath>{sdbus::ObjectPath{"/a"}}}; },
                 "[\"/a\"]"},
        Received{"Variants",
                 [] {
                     return Variant{std::vector<Variant>{Variant{1}, Variant{true}}};
                 },
                 "[1,true]"},
        Received{"StringMap",
                 [] {
                     return Variant{std::map<std::string, std::string>{{"k", "v"}}};
                 },
                 "{\"k\":\"v\"}"},
        Received{"Dictionary",
                 [] {
                     return Variant{Dictionary{{"k", Variant{1}}}};
                 },
                 "{\"k\":1}"},
        Received{"Dictionaries",
                 [] {
                     return Variant{std::vector<Dictionary>{{{"k", Variant{1}}}}};
                 },
                 "[{\"k\":1}]"},
        Received{"DeepestAllowed", [] { return Variant{nested(kMaxReceivedDepth)}; },
                 "{\"in\":{\"in\":{\"in\":{}}}}"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Bad,
    ValueFrom,
    ::testing::Values(
        Received{"Empty", [] { return Variant{}; }, nullptr},
        Received{"Struct",
                 [] {
                     return Variant{sdbus::Struct<bool, int>{true, 1}};
                 },
                 nullptr},
        Received{"OtherKeys",
                 [] {
                     return Variant{std::map<int, std::string>{{1, "v"}}};
                 },
                 nullptr},
        Received{"Bytes", [] { return Variant{std::vector<std::uint8_t>{1}}; }, nullptr},
        Received{"Descriptor", [] { return Variant{sdbus::UnixFd{0}}; }, nullptr},
        Received{"TooDeep", [] { return Variant{nested(kMaxReceivedDepth + 1)}; }, nullptr},
        Received{"TooManyWrappings", [] { return wrapped(kMaxReceivedDepth + 2); }, nullptr},
        Received{"TooLong", [] { return Variant{std::string(kMaxReceivedText.count + 1, 'x')}; },
                 nullptr},
        Received{"TooMany", [] { return Variant{std::vector<std::string>(kMaxReceived + 1, "x")}; },
                 nullptr}),
    support::case_name);

TEST(ValueFrom, NamesTheKeyAtFault) {
    const auto value = value_from(Dictionary{{"built", Variant{sdbus::Struct<bool>{true}}}});
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().text, "built: unexpected type (b)");
}

TEST(ValueFrom, AllowsExactlyAsMuchAsItSays) {
    EXPECT_TRUE(value_from(Variant{std::string(kMaxReceivedText.count, 'x')}));
    EXPECT_TRUE(value_from(Variant{std::vector<std::string>(kMaxReceived, "x")}));
}

struct Sent {
    const char* name;
    Value value;
    const char* signature;
};
class VariantFrom : public ::testing::TestWithParam<Sent> {};

TEST_P(VariantFrom, HasTheDocumentedType) {
    EXPECT_EQ(signature_in(variant_from(GetParam().value)), GetParam().signature);
}

Value object_of(const char* key, Value value) {
    Value object;
    object[key] = std::move(value);
    return object;
}

INSTANTIATE_TEST_SUITE_P(
    Types,
    VariantFrom,
    ::testing::Values(Sent{"Null", Value{}, "av"},
                      Sent{"Boolean", Value{false}, "b"},
                      Sent{"Zero", Value{0}, "x"},
                      Sent{"Positive", Value{7U}, "x"},
                      Sent{"Huge", Value{std::numeric_limits<std::uint64_t>::max()}, "t"},
                      Sent{"Number", Value{1.5}, "d"},
                      Sent{"Text", Value{"x"}, "s"},
                      Sent{"Object", object_of("k", Value{1}), "a{sv}"},
                      Sent{"EmptyArray", Value{Value::Array{}}, "as"},
                      Sent{"Strings", Value{Value::Array{Value{"a"}, Value{"b"}}}, "as"},
                      Sent{"StringsAndNull", Value{Value::Array{Value{"a"}, Value{}}}, "av"},
                      Sent{"Integers", Value{Value::Array{Value{1}}}, "ax"},
                      Sent{"Objects", Value{Value::Array{object_of("k", Value{1})}}, "aa{sv}"},
                      Sent{"Mixed", Value{Value::Array{Value{"a"}, Value{1}}}, "av"}),
    support::case_name);

TEST(VariantFrom, KeepsTheOrderAndWritesAnEmptyListForNull) {
    const auto value = parse_json(
        R"({"z":null,"a":[1,2],"mixed":["x",null,1.5],"in":{"z":true,"a":"b"},"list":[{"k":1}]})",
        kib(1));
    ASSERT_TRUE(value);
    const auto back = value_from(variant_from(*value));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(
        json_line(*back),
        R"({"z":[],"a":[1,2],"mixed":["x",[],1.5],"in":{"z":true,"a":"b"},"list":[{"k":1}]})");
}

TEST(VariantFrom, ReplacesWhatTheBusRefuses) {
    const auto text = variant_from(Value{std::string{"GPU\xff\0", 5}}).get<std::string>();
    EXPECT_EQ(text, "GPU\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(VariantFrom, CutsOffWhatIsTooDeep) {
    Value value{1};
    for (int level = 0; level < 100; ++level)
        value = object_of("in", value);
    EXPECT_EQ(signature_in(variant_from(value)), "a{sv}");
    Value list{1};
    for (int level = 0; level < 100; ++level)
        list = Value{Value::Array{list, Value{"x"}}};
    EXPECT_EQ(signature_in(variant_from(list)), "av");
}

}  // namespace dictionary_test
}  // namespace gpuprobe::bus
