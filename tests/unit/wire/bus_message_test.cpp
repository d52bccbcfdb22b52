// SPDX-License-Identifier: Apache-2.0
#include "wire/bus_message.h"

#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/bus_pair.h"
#include "support/case_name.h"

namespace gpuprobe::bus {
namespace bus_message_test {

using support::BusMessage;
using support::BusPair;
using support::WriteMessage;

/// A written message, with the connection that it belongs to.
class Written {
public:
    explicit Written(const WriteMessage& write) : message_{pair_.written(write)} {}
    [[nodiscard]] sd_bus_message* get() const { return message_.get(); }

private:
    BusPair pair_ = {};
    BusMessage message_;
};

/// The next argument of a message as JSON, or the error.
std::string argument_in(const WriteMessage& write) {
    const Written message{write};
    const auto value = read_argument(message.get());
    if (value)
        return json_line(*value);
    EXPECT_EQ(value.error().code, ErrorCode::InvalidRequest);
    return value.error().text;
}

// Receiving ---------------------------------------------------------------------------------------

struct Received {
    const char* name;
    void (*write)(sd_bus_message* message);
    const char* want;  ///< the value as JSON, or the error
};
class ReadArgument : public ::testing::TestWithParam<Received> {};

TEST_P(ReadArgument, ReadsOneValue) {
    EXPECT_EQ(argument_in(GetParam().write), GetParam().want);
}

/// Appends so many dictionaries inside each other.
void append_nested(sd_bus_message* message, int levels) {
    sd_bus_message_open_container(message, 'a', "{sv}");
    if (levels > 1) {
        sd_bus_message_open_container(message, 'e', "sv");
        sd_bus_message_append(message, "s", "in");
        sd_bus_message_open_container(message, 'v', "a{sv}");
        append_nested(message, levels - 1);
        sd_bus_message_close_container(message);
        sd_bus_message_close_container(message);
    }
    sd_bus_message_close_container(message);
}

/// Appends so many variants inside each other.
void append_wrapped(sd_bus_message* message, int levels) {
    if (levels == 0) {
        sd_bus_message_append(message, "b", 1);
        return;
    }
    sd_bus_message_open_container(message, 'v', levels == 1 ? "b" : "v");
    append_wrapped(message, levels - 1);
    sd_bus_message_close_container(message);
}

void append_texts(sd_bus_message* message, std::size_t count) {
    sd_bus_message_open_container(message, 'a', "s");
    for (std::size_t i = 0; i < count; ++i)
        sd_bus_message_append(message, "s", "x");
    sd_bus_message_close_container(message);
}

/// Appends {"k": text of that length}.
void append_text_in_dictionary(sd_bus_message* message, std::size_t length) {
    sd_bus_message_append(message, "a{sv}", 1, "k", "s", std::string(length, 'x').c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Basic,
    ReadArgument,
    ::testing::Values(
        Received{"Boolean", [](auto* m) { sd_bus_message_append(m, "b", 1); }, "true"},
        Received{"Byte", [](auto* m) { sd_bus_message_append(m, "y", 255); }, "255"},
        Received{"Int16", [](auto* m) { sd_bus_message_append(m, "n", -7); }, "-7"},
        Received{"Uint16", [](auto* m) { sd_bus_message_append(m, "q", 7); }, "7"},
        Received{"Int32", [](auto* m) { sd_bus_message_append(m, "i", -70000); }, "-70000"},
        Received{"Uint32",
                 [](auto* m) { sd_bus_message_append(m, "u", std::uint32_t{4000000000}); },
                 "4000000000"},
        Received{"Int64",
                 [](auto* m) { sd_bus_message_append(m, "x", std::int64_t{-1099511627776}); },
                 "-1099511627776"},
        Received{"Uint64",
                 [](auto* m) {
                     sd_bus_message_append(m, "t", std::numeric_limits<std::uint64_t>::max());
                 },
                 "18446744073709551615"},
        Received{"Double", [](auto* m) { sd_bus_message_append(m, "d", 0.5); }, "0.5"},
        Received{"Text", [](auto* m) { sd_bus_message_append(m, "s", "cuda"); }, R"("cuda")"},
        Received{"Path", [](auto* m) { sd_bus_message_append(m, "o", "/a"); }, R"("/a")"},
        Received{"Signature", [](auto* m) { sd_bus_message_append(m, "g", "a{sv}"); },
                 R"("a{sv}")"},
        Received{"Variant", [](auto* m) { sd_bus_message_append(m, "v", "s", "x"); }, R"("x")"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Containers,
    ReadArgument,
    ::testing::Values(
        Received{"Texts", [](auto* m) { sd_bus_message_append(m, "as", 2, "a", "b"); },
                 R"(["a","b"])"},
        Received{"NoTexts", [](auto* m) { sd_bus_message_append(m, "as", 0); }, "[]"},
        Received{"Paths", [](auto* m) { sd_bus_message_append(m, "ao", 1, "/a"); }, R"(["/a"])"},
        Received{"Integers", [](auto* m) { sd_bus_message_append(m, "ai", 2, 1, -1); }, "[1,-1]"},
        Received{"Variants", [](auto* m) { sd_bus_message_append(m, "av", 2, "i", 1, "b", 1); },
                 "[1,true]"},
        Received{"TextMap", [](auto* m) { sd_bus_message_append(m, "a{ss}", 1, "k", "v"); },
                 R"({"k":"v"})"},
        Received{"Dictionary",
                 [](auto* m) { sd_bus_message_append(m, "a{sv}", 2, "z", "i", 1, "a", "b", 0); },
                 R"({"z":1,"a":false})"},
        Received{"Dictionaries",
                 [](auto* m) { sd_bus_message_append(m, "aa{sv}", 1, 1, "k", "i", 1); },
                 R"([{"k":1}])"},
        Received{"DeepestAllowed", [](auto* m) { append_nested(m, kMaxReceivedDepth); },
                 R"({"in":{"in":{"in":{}}}})"},
        Received{"MostWrappings", [](auto* m) { append_wrapped(m, kMaxReceivedDepth); }, "true"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Refused,
    ReadArgument,
    ::testing::Values(
        Received{"Missing", [](auto*) {}, "an argument is missing"},
        Received{"OtherKeys", [](auto* m) { sd_bus_message_append(m, "a{is}", 1, 1, "v"); },
                 "unexpected type a{is}"},
        Received{"OtherValues", [](auto* m) { sd_bus_message_append(m, "a{si}", 1, "k", 1); },
                 "unexpected type a{si}"},
        Received{"Bytes", [](auto* m) { sd_bus_message_append(m, "ay", 1, 1); },
                 "unexpected type ay"},
        Received{"Lists", [](auto* m) { sd_bus_message_append(m, "aas", 1, 1, "x"); },
                 "unexpected type aas"},
        Received{"Descriptor", [](auto* m) { sd_bus_message_append(m, "h", 2); },
                 "unexpected type h"},
        Received{"TooDeep", [](auto* m) { append_nested(m, kMaxReceivedDepth + 1); },
                 "in: in: in: in: nested too deeply"},
        Received{"TooManyWrappings", [](auto* m) { append_wrapped(m, kMaxReceivedDepth + 1); },
                 "nested too deeply"},
        Received{"TooManyItems", [](auto* m) { append_texts(m, kMaxReceived + 1); },
                 "too many values"},
        Received{"TooLong",
                 [](auto* m) { append_text_in_dictionary(m, kMaxReceivedText.count + 1); },
                 "k: a string is too long"},
        Received{"TooLongInAList",
                 [](auto* m) {
                     sd_bus_message_append(m, "as", 1,
                                           std::string(kMaxReceivedText.count + 1, 'x').c_str());
                 },
                 "a string is too long"},
        Received{"TooLongKey",
                 [](auto* m) {
                     sd_bus_message_append(m, "a{sv}", 1,
                                           std::string(kMaxReceivedText.count + 1, 'x').c_str(),
                                           "b", 1);
                 },
                 "a key is too long"}),
    support::case_name);

TEST(ReadArgument, RefusesStructs) {
    const auto refused = argument_in([](auto* m) { sd_bus_message_append(m, "(bi)", 1, 1); });
    EXPECT_TRUE(refused.starts_with("unexpected type ")) << refused;
    const auto inside =
        argument_in([](auto* m) { sd_bus_message_append(m, "a{sv}", 1, "built", "(b)", 1); });
    EXPECT_TRUE(inside.starts_with("built: unexpected type ")) << inside;
}

TEST(ReadArgument, NamesThePathOfTheValueAtFault) {
    EXPECT_EQ(
        argument_in([](auto* m) { sd_bus_message_append(m, "a{sv}", 1, "built", "ay", 1, 1); }),
        "built: unexpected type ay");
    EXPECT_EQ(argument_in([](auto* m) {
                  sd_bus_message_append(m, "a{sv}", 2, "fine", "b", 1, "in", "a{sv}", 1, "key",
                                        "ay", 1, 1);
              }),
              "in: key: unexpected type ay");
}

TEST(ReadArgument, AllowsExactlyTheLimits) {
    const auto is_accepted = [](const WriteMessage& write) {
        const Written message{write};
        return static_cast<bool>(read_argument(message.get()));
    };
    EXPECT_TRUE(is_accepted([](auto* m) { append_texts(m, kMaxReceived); }));
    EXPECT_TRUE(is_accepted([](auto* m) { append_text_in_dictionary(m, kMaxReceivedText.count); }));
}

TEST(ReadArgument, CountsTheValuesOfAllLevels) {
    const auto two_lists = [](std::size_t items) {
        return argument_in([items](auto* m) {
            sd_bus_message_open_container(m, 'a', "{sv}");
            for (const char* key : {"a", "b"}) {
                sd_bus_message_open_container(m, 'e', "sv");
                sd_bus_message_append(m, "s", key);
                sd_bus_message_open_container(m, 'v', "as");
                append_texts(m, items);
                sd_bus_message_close_container(m);
                sd_bus_message_close_container(m);
            }
            sd_bus_message_close_container(m);
        });
    };
    constexpr auto kHalf = kMaxReceived / 2 - 1;  // the two members count as well
    EXPECT_TRUE(two_lists(kHalf).starts_with("{"));
    EXPECT_EQ(two_lists(kHalf + 1), "b: too many values");
}

/// A manifest is an argument, and may be large.
TEST(ReadArgument, ReadsALongText) {
    const std::string manifest(100'000, 'x');
    const Written message{[&](auto* m) { sd_bus_message_append(m, "s", manifest.c_str()); }};
    EXPECT_EQ(read_argument(message.get()).value(), Value{manifest});
}

TEST(ReadArgument, ReadsOneArgumentAfterTheOther) {
    const Written message{
        [](auto* m) { sd_bus_message_append(m, "sa{sv}b", "a", 1, "k", "i", 1, 1); }};
    for (const char* want : {R"("a")", R"({"k":1})", "true"})
        EXPECT_EQ(json_line(read_argument(message.get()).value()), want);
    EXPECT_FALSE(read_argument(message.get()));
}

TEST(BusKey, HasACapitalForEachWord) {
    const std::pair<const char*, const char*> keys[] = {
        {"gpu", "Gpu"},   {"duration_usec", "DurationUsec"},     {"", ""},
        {"_a__b_", "AB"}, {"manifest_sha256", "ManifestSha256"}, {"AlreadySo", "AlreadySo"}};
    for (const auto& [key, want] : keys)
        EXPECT_EQ(bus_key(key), want);
}

}  // namespace bus_message_test
}  // namespace gpuprobe::bus
