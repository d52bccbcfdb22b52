// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/decision.h"
#include "report/report.h"
#include "support/bus_pair.h"
#include "support/case_name.h"
#include "wire/bus.h"

namespace gpuprobe::bus {
namespace bus_message_test {

using support::BusMessage;
using support::BusPair;
using support::WriteMessage;

/// A written message, together with the connection of the message.
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

/// Appends the given number of nested dictionaries.
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

/// Appends the given number of nested variants.
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

/// Appends {"k": a string of that length}.
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
    constexpr auto kHalf = kMaxReceived / 2 - 1;  // the two members are also counted
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

// Sending -----------------------------------------------------------------------------------------

/// The object of each GPU has the GPU's id as its path.
std::string path_of(const std::string& id) {
    return "/" + id;
}

/// A message in which a value of `type` has the D-Bus type `signature`.
Written message_of_value(const Value& value,
                         const MemberType& type,
                         const TypeTable& types,
                         const char* signature) {
    const MessageWriter::PathOf paths = path_of;
    MessageBody body;
    MessageWriter{body, types, paths}.append(signature, value, type);
    return Written{[&body](sd_bus_message* message) { body.append_to(message); }};
}

template <class T>
Written message_of(const T& record, const char* signature = "a{sv}") {
    TypeTable types;
    const auto type = types.type_of(std::type_identity<T>{});
    return message_of_value(to_value(record), type, types, signature);
}

/// A message that contains JSON unchanged.
Written message_of_json(const Value& value, const char* signature) {
    return message_of_value(value, {}, {}, signature);
}

std::string next_text(sd_bus_message* message, char type) {
    const char* text = nullptr;
    EXPECT_GT(sd_bus_message_read_basic(message, type, &text), 0);
    return text ? text : "";
}

template <class T>
T next_number(sd_bus_message* message, char type) {
    T number{};
    EXPECT_GT(sd_bus_message_read_basic(message, type, &number), 0);
    return number;
}

Value next_value(sd_bus_message* message);

/// The items of an array of this type.
Value next_items(sd_bus_message* message, const std::string& item) {
    EXPECT_GT(sd_bus_message_enter_container(message, 'a', item.c_str()), 0);
    Value items = item.starts_with('{') ? Value{Value::Object{}} : Value{Value::Array{}};
    while (sd_bus_message_at_end(message, 0) == 0) {
        if (!item.starts_with('{')) {
            items.push_back(next_value(message));
            continue;
        }
        const auto entry = item.substr(1, item.size() - 2);
        EXPECT_GT(sd_bus_message_enter_container(message, 'e', entry.c_str()), 0);
        const auto key = next_text(message, entry.front());
        items[key] = next_value(message);
        EXPECT_GT(sd_bus_message_exit_container(message), 0);
    }
    EXPECT_GT(sd_bus_message_exit_container(message), 0);
    return items;
}

/// The next value of a message, without the limits of read_argument().
Value next_value(sd_bus_message* message) {
    char type = 0;
    const char* contents = nullptr;
    EXPECT_GT(sd_bus_message_peek_type(message, &type, &contents), 0);
    switch (type) {
        case 'a':
            return next_items(message, contents);
        case 'v': {
            EXPECT_GT(sd_bus_message_enter_container(message, 'v', contents), 0);
            auto inner = next_value(message);
            EXPECT_GT(sd_bus_message_exit_container(message), 0);
            return inner;
        }
        case 'b':
            return Value{next_number<int>(message, type) != 0};
        case 'u':
            return Value{next_number<std::uint32_t>(message, type)};
        case 'x':
            return Value{next_number<std::int64_t>(message, type)};
        case 't':
            return Value{next_number<std::uint64_t>(message, type)};
        case 'd':
            return Value{next_number<double>(message, type)};
        default:
            return Value{next_text(message, type)};
    }
}

Value contents_of(const Written& message) {
    return next_value(message.get());
}

using Types = std::map<std::string, std::string>;

/// The D-Bus types in the dictionary, by key.
Types types_in(const Written& dictionary) {
    auto* const message = dictionary.get();
    Types types;
    EXPECT_GT(sd_bus_message_enter_container(message, 'a', "{sv}"), 0);
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const auto key = next_text(message, 's');
        const char* contents = nullptr;
        EXPECT_GT(sd_bus_message_peek_type(message, nullptr, &contents), 0);
        types.emplace(key, contents);
        EXPECT_GT(sd_bus_message_skip(message, "v"), 0);
        EXPECT_GT(sd_bus_message_exit_container(message), 0);
    }
    EXPECT_GE(sd_bus_message_rewind(message, 1), 0);
    return types;
}

Value parsed(const char* json) {
    auto value = parse_json(json, kib(4));
    EXPECT_TRUE(value) << json;
    return value ? std::move(value).value() : Value{};
}

Decision some_decision() {
    return {.application = "whisper",
            .backend = "cuda",
            .gpus = {"a", "b"},
            .environment = {{"CUDA_VISIBLE_DEVICES", "0"}},
            .assumes = AssumedVariant{.variant = "main-cuda"},
            .summary = "requested=auto",
            .candidates = {{.backend = "cuda", .gpu = "a", .verdict = Verdict::Accepted},
                           {.backend = "cpu",
                            .verdict = Verdict::Rejected,
                            .reasons = {{.code = "driver-too-old",
                                         .detail = parsed(R"({"need":"2","have":null})")}}}},
            .generation = 7};
}

TEST(MessageWriter, WritesTheTypesOfTheInterface) {
    EXPECT_EQ(types_in(message_of(some_decision())), (Types{{"Application", "s"},
                                                            {"Backend", "s"},
                                                            {"Gpus", "ao"},
                                                            {"Environment", "a{ss}"},
                                                            {"Assumes", "a{sv}"},
                                                            {"Assumed", "a{ss}"},
                                                            {"Answers", "a{ss}"},
                                                            {"Messages", "as"},
                                                            {"Candidates", "aa{sv}"},
                                                            {"Warnings", "aa{sv}"},
                                                            {"Decision", "s"},
                                                            {"Generation", "t"}}));
}

TEST(MessageWriter, LeavesRareMembersOutIfTheyAreEmpty) {
    Candidate candidate{.backend = "cuda", .gpu = "a"};
    const Types few{{"Backend", "s"},
                    {"Gpu", "o"},
                    {"Verdict", "s"},
                    {"Reasons", "aa{sv}"},
                    {"Environment", "a{ss}"}};
    EXPECT_EQ(types_in(message_of(candidate)), few);
    candidate.also = {"b"};
    candidate.also_environment = {{"CUDA_VISIBLE_DEVICES", {"1"}}};
    auto all = few;
    all.merge(Types{{"Also", "ao"}, {"AlsoEnvironment", "a{sv}"}});
    EXPECT_EQ(types_in(message_of(candidate)), all);
}

TEST(MessageWriter, WritesNumbersBySignAndWidth) {
    const auto entry =
        types_in(message_of(QuarantinedProbe{.times = 3, .since = WallTime{Duration{5}}}));
    EXPECT_EQ(entry.at("Times"), "u");
    EXPECT_EQ(entry.at("SinceUsec"), "x");
    EXPECT_EQ(entry.at("Why"), "s");
    EXPECT_EQ(types_in(message_of(VariantCandidate{})).at("Tier"), "x");
    EXPECT_EQ(types_in(message_of(BackendView{.score = 0.5})).at("Score"), "d");
}

TEST(MessageWriter, LeavesOutMembersThatAreNull) {
    EXPECT_FALSE(types_in(message_of(QuarantinedProbe{})).contains("Note"));
    const auto memory = types_in(message_of(GpuMemory{.free = Bytes{1}}));
    EXPECT_EQ(memory.at("Free"), "t");
    EXPECT_FALSE(memory.contains("Physical"));
    const auto written = contents_of(message_of(some_decision()));
    const auto& candidates = *written.at("Candidates").as_array();
    EXPECT_NE(candidates.at(0).find("Gpu"), nullptr);
    EXPECT_EQ(candidates.at(1).find("Gpu"), nullptr);
}

TEST(MessageWriter, WritesGpusAsTheirPaths) {
    const auto written = contents_of(message_of(some_decision()));
    EXPECT_EQ(json_line(written.at("Gpus")), R"(["/a","/b"])");
    EXPECT_EQ(written.at("Candidates").as_array()->at(0).at("Gpu"), Value{"/a"});
}

TEST(MessageWriter, WritesAListOfGpusAsAListOfPaths) {
    const std::vector<Gpu> gpus{{.id = "a"}, {.id = "b"}};
    EXPECT_EQ(json_line(contents_of(message_of(gpus, "ao"))), R"(["/a","/b"])");
    EXPECT_EQ(json_line(contents_of(message_of(std::string{"a"}, "o"))), R"("/a")");
    MessageBody body;
    const TypeTable types;
    const MessageWriter::PathOf none;
    MessageWriter{body, types, none}.append("o", Value{"a"}, {});
    const Written without_paths{[&body](sd_bus_message* message) { body.append_to(message); }};
    EXPECT_EQ(json_line(contents_of(without_paths)), R"("/")");
}

TEST(MessageWriter, WritesTheWordsOfReasons) {
    const Reason plain{.code = "strict", .detail = parsed(R"({"backend":"cpu"})")};
    auto worded = plain;
    worded.words = std::make_shared<const ReasonWords>(
        ReasonWords{.text = "the CPU is not accepted", .subject = {.gpu = "a", .api = "vulkan"}});
    EXPECT_EQ(json_line(contents_of(message_of(plain))),
              R"({"Code":"strict","Detail":{"backend":"cpu"}})");
    EXPECT_EQ(json_line(contents_of(message_of(worded))),
              R"({"Code":"strict","Text":"the CPU is not accepted","Commands":[],)"
              R"("Subject":{"Gpu":"/a","Api":"vulkan"},"Detail":{"backend":"cpu"}})");
    EXPECT_EQ(types_in(message_of(worded)).at("Commands"), "as");
}

TEST(MessageWriter, LeavesOutADetailWithoutFacts) {
    EXPECT_EQ(json_line(contents_of(message_of(Reason{.code = "strict"}))), R"({"Code":"strict"})");
}

TEST(MessageWriter, WritesKeysInTheStyleOfDBus) {
    // In a map of strings, keys are changed if the map is an argument itself, like identifiers.
    using Texts = std::map<std::string, std::string>;
    const Texts identifiers{{"nvidia_uuid", "GPU-1"}};
    EXPECT_EQ(json_line(contents_of(message_of(identifiers, "a{ss}"))),
              R"({"NvidiaUuid":"GPU-1"})");
    const auto environment = contents_of(message_of(some_decision())).at("Environment");
    EXPECT_EQ(json_line(environment), R"({"CUDA_VISIBLE_DEVICES":"0"})");
    // The keys of other maps are names and stay unchanged.
    const std::map<std::string, QuarantinedProbe> by_name{{"a_b", {.api = "vulkan"}}};
    const auto entries = contents_of(message_of(by_name, "a{sa{sv}}"));
    EXPECT_EQ(entries.at("a_b").at("Api"), Value{"vulkan"});
    const std::map<std::string, QuarantinedProbe> by_gpu{{"a", {}}};
    EXPECT_NE(contents_of(message_of(by_gpu, "a{oa{sv}}")).find("/a"), nullptr);
}

TEST(MessageWriter, WritesOnlyTextThatTheBusAccepts) {
    const Decision decision{.backend = "a\xff", .environment = {{"K\xff", "V\xff"}}};
    const auto written = contents_of(message_of(decision));
    EXPECT_EQ(written.at("Backend"), Value{"a\xEF\xBF\xBD"});
    EXPECT_EQ(written.at("Environment").at("K\xEF\xBF\xBD"), Value{"V\xEF\xBF\xBD"});
    EXPECT_EQ(contents_of(message_of(std::string{"GPU\xff\0", 5}, "s")),
              Value{"GPU\xEF\xBF\xBD\xEF\xBF\xBD"});
}

TEST(MessageWriter, WritesNullAsTheZeroOfATypeThatHasNone) {
    EXPECT_EQ(json_line(contents_of(message_of(std::optional<std::string>{}, "s"))), R"("")");
    EXPECT_EQ(json_line(contents_of(message_of(std::optional<std::uint64_t>{}, "t"))), "0");
    EXPECT_EQ(json_line(contents_of(message_of(std::optional<std::string>{}, "o"))), R"("/")");
}

// The body ----------------------------------------------------------------------------------------

TEST(MessageBody, IsAppendedToAnyNumberOfMessages) {
    TypeTable types;
    const auto type = types.type_of(std::type_identity<Decision>{});
    const MessageWriter::PathOf paths = path_of;
    MessageBody body;
    MessageWriter{body, types, paths}.append("a{sv}", to_value(some_decision()), type);
    const auto first = contents_of(message_of(some_decision()));
    for (int i = 0; i < 2; ++i) {
        const Written message{[&body](sd_bus_message* opened) { body.append_to(opened); }};
        EXPECT_EQ(contents_of(message), first);
    }
}

TEST(MessageBody, HoldsTheSmallestAndTheLargestNumbers) {
    MessageBody body;
    body.add_number('b', 1);
    body.add_number('u', std::numeric_limits<std::uint32_t>::max());
    body.add_number('t', std::numeric_limits<std::uint64_t>::max());
    const TypeTable types;
    const MessageWriter::PathOf none;
    MessageWriter writer{body, types, none};
    writer.append("x", Value{std::numeric_limits<std::int64_t>::min()}, {});
    writer.append("d", Value{-0.5}, {});
    const Written message{[&body](sd_bus_message* opened) { body.append_to(opened); }};
    for (const char* want :
         {"true", "4294967295", "18446744073709551615", "-9223372036854775808", "-0.5"})
        EXPECT_EQ(json_line(next_value(message.get())), want);
}

TEST(MessageBody, FailsIfItDoesNotFitIntoTheMessage) {
    MessageBody array;
    array.open('a', "s");
    EXPECT_THROW(Written{[&array](sd_bus_message* message) {
                     array.append_to(message);
                     MessageBody other;
                     other.add_number('t', 1);  // does not fit into an array of strings
                     other.append_to(message);
                 }},
                 std::system_error);
}

TEST(MessageBody, CountsItsMemory) {
    MessageBody body;
    EXPECT_EQ(body.bytes(), 0U);
    body.add_text('s', std::string(1000, 'x'));
    const auto of_text = body.bytes();
    EXPECT_GT(of_text, 1000U);
    body.add_number('t', 1);
    EXPECT_GT(body.bytes(), of_text);
}

// JSON --------------------------------------------------------------------------------------------

struct Json {
    const char* name;
    const char* json;
    const char* signature;
};
class JsonValue : public ::testing::TestWithParam<Json> {};

TEST_P(JsonValue, HasTheDocumentedType) {
    const auto message = message_of_json(parsed(GetParam().json), "v");
    const char* contents = nullptr;
    ASSERT_GT(sd_bus_message_peek_type(message.get(), nullptr, &contents), 0);
    EXPECT_STREQ(contents, GetParam().signature);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         JsonValue,
                         ::testing::Values(Json{"Null", "null", "av"},
                                           Json{"Boolean", "false", "b"},
                                           Json{"Zero", "0", "x"},
                                           Json{"Negative", "-7", "x"},
                                           Json{"Huge", "18446744073709551615", "t"},
                                           Json{"Number", "1.5", "d"},
                                           Json{"Text", R"("x")", "s"},
                                           Json{"Object", R"({"k":1})", "a{sv}"},
                                           Json{"EmptyObject", "{}", "a{sv}"},
                                           Json{"EmptyArray", "[]", "as"},
                                           Json{"Texts", R"(["a","b"])", "as"},
                                           Json{"TextsAndNull", R"(["a",null])", "av"},
                                           Json{"Integers", "[1,2]", "ax"},
                                           Json{"Numbers", "[1,1.5]", "av"},
                                           Json{"Objects", R"([{"k":1},{}])", "aa{sv}"},
                                           Json{"Mixed", R"(["a",1])", "av"},
                                           Json{"Lists", "[[1],[2]]", "av"}),
                         support::case_name);

TEST(JsonInAMessage, KeepsItsKeysAndTheirOrderAndHasAnEmptyListForNull) {
    const auto message = message_of_json(
        parsed(
            R"({"z_z":null,"a":[1,2],"mixed":["x",null,1.5],"in":{"z":true,"gpu":"b"},"list":[{"k":1}]})"),
        "a{sv}");
    EXPECT_EQ(
        json_line(contents_of(message)),
        R"({"z_z":[],"a":[1,2],"mixed":["x",[],1.5],"in":{"z":true,"gpu":"b"},"list":[{"k":1}]})");
}

TEST(JsonInAMessage, IsPassedOnInsideARecord) {
    const Recommendation recommendation{
        .artifact =
            parsed(R"({"type":"file","urls":["https://b","https://a"],"size":1,"x":null})")};
    EXPECT_EQ(json_line(contents_of(message_of(recommendation)).at("Artifact")),
              R"({"type":"file","urls":["https://b","https://a"],"size":1,"x":[]})");
    // If a member should contain an object but is null, it is omitted like any null member.
    EXPECT_FALSE(types_in(message_of(Recommendation{})).contains("Artifact"));
}

TEST(JsonInAMessage, IsCutOffBelowItsMaximumDepth) {
    Value object{1};
    Value list{1};
    for (int level = 0; level < 100; ++level) {
        Value outer;
        outer["in"] = std::move(object);
        object = std::move(outer);
        list = Value{Value::Array{list, Value{"x"}}};
    }
    const auto message = message_of_json(object, "a{sv}");
    int levels = 0;
    while (sd_bus_message_enter_container(message.get(), 'a', "{sv}") > 0) {
        ++levels;
        if (sd_bus_message_enter_container(message.get(), 'e', "sv") <= 0)
            break;
        EXPECT_GT(sd_bus_message_skip(message.get(), "s"), 0);
        EXPECT_GT(sd_bus_message_enter_container(message.get(), 'v', nullptr), 0);
    }
    EXPECT_EQ(levels, kMaxDepth + 1);
    EXPECT_NO_THROW(message_of_json(list, "v"));
}

TEST(JsonInAMessage, IsCutOffAfterItsMaximumOfItems) {
    Value::Array items(kMaxItems + 1, Value{1});
    Value::Object members;
    for (std::size_t i = 0; i < items.size(); ++i)
        members.push_back({.key = std::to_string(i), .value = Value{1}});
    const auto count_in = [](const Written& message, const char* contents, const char* item) {
        std::size_t count = 0;
        EXPECT_GT(sd_bus_message_enter_container(message.get(), 'a', contents), 0);
        while (sd_bus_message_skip(message.get(), item) > 0)
            ++count;
        return count;
    };
    EXPECT_EQ(count_in(message_of_json(Value{items}, "ax"), "x", "x"), kMaxItems);
    EXPECT_EQ(count_in(message_of_json(Value{members}, "a{sv}"), "{sv}", "{sv}"), kMaxItems);
    // The length of a record's list is not limited.
    const std::vector<std::string> texts(kMaxItems + 1, "x");
    EXPECT_EQ(count_in(message_of(texts, "as"), "s", "s"), texts.size());
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
