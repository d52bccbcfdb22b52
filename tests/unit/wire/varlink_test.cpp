// SPDX-License-Identifier: Apache-2.0
#include "wire/varlink.h"

#include <gtest/gtest.h>

namespace gpuprobe::bus {
namespace error_name_test {

TEST(ErrorNames, LeadBackToTheirCode) {
    for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code)
        EXPECT_EQ(error_code(error_name(ErrorCode{code})), ErrorCode{code});
}

TEST(ErrorNames, AreTheDocumentedOnes) {
    EXPECT_EQ(error_name(ErrorCode::UnknownDevice), "org.gpuprobe.GpuProbe1.Error.NoSuchGpu");
    EXPECT_EQ(error_name(ErrorCode::NoMatch), "org.gpuprobe.GpuProbe1.Error.NoMatch");
    EXPECT_EQ(error_name(ErrorCode::WouldWake), "org.gpuprobe.GpuProbe1.Error.WouldWake");
}

TEST(ErrorNames, OfOthersHaveNoCode) {
    EXPECT_FALSE(error_code("NoMatch"));
    EXPECT_FALSE(error_code("org.gpuprobe.GpuProbe1.Error."));
    EXPECT_FALSE(error_code("org.gpuprobe.GpuProbe1.Error.Nonsense"));
}

}  // namespace error_name_test
}  // namespace gpuprobe::bus

namespace gpuprobe::varlink {
namespace varlink_test {

using namespace std::string_view_literals;

TEST(MessageReader, GivesWholeMessagesOfAnyPieces) {
    constexpr auto kText = "{}\0[1,2]\0\0{\"a\":1}\0rest"sv;
    for (std::size_t block = 1; block <= kText.size(); ++block) {
        MessageReader reader;
        std::vector<std::string> messages;
        for (std::size_t at = 0; at < kText.size(); at += block) {
            ASSERT_TRUE(reader.add(kText.substr(at, block)));
            while (const auto message = reader.next())
                messages.emplace_back(*message);
        }
        EXPECT_EQ(messages, (std::vector<std::string>{"{}", "[1,2]", "", "{\"a\":1}"})) << block;
        EXPECT_EQ(reader.size(), 4U) << block;
    }
}

TEST(MessageReader, RefusesAMessageOverItsLimit) {
    MessageReader reader;
    EXPECT_TRUE(reader.add(std::string(kMaxMessage.count, ' ')));
    EXPECT_FALSE(reader.add(" "));
    MessageReader other;
    EXPECT_TRUE(other.add(std::string(kMaxMessage.count, ' ') + '\0'));
    EXPECT_EQ(other.next()->size(), kMaxMessage.count);
}

TEST(CallFrom, ReadsACall) {
    const auto call =
        call_from(R"({"method":"a.B","parameters":{"x":1},"more":true,"oneway":null,"future":[]})");
    ASSERT_TRUE(call);
    EXPECT_EQ(call->method, "a.B");
    EXPECT_EQ(call->parameters.at("x").as_int(), 1);
    EXPECT_TRUE(call->more);
    EXPECT_FALSE(call->oneway);
    EXPECT_TRUE(call_from(R"({"method":"a.B"})")->parameters.is_object());
    EXPECT_TRUE(call_from(R"({"method":"a.B","parameters":null})")->parameters.is_object());
}

TEST(CallFrom, TakesThePermissionToAskForAPasswordOutOfTheParameters) {
    const auto call = [](const std::string& parameters) {
        return call_from(R"({"method":"a.B","parameters":)" + parameters + "}").value();
    };
    const auto allowed = call(R"({"x":1,"allowInteractiveAuthentication":true,"y":2})");
    EXPECT_TRUE(allowed.may_be_asked);
    EXPECT_EQ(json_line(allowed.parameters), R"({"x":1,"y":2})");
    const auto forbidden = call(R"({"allowInteractiveAuthentication":false})");
    EXPECT_FALSE(forbidden.may_be_asked);
    EXPECT_EQ(json_line(forbidden.parameters), "{}");
    const auto invalid = call(R"({"allowInteractiveAuthentication":1})");
    EXPECT_FALSE(invalid.may_be_asked);
    EXPECT_EQ(json_line(invalid.parameters), R"({"allowInteractiveAuthentication":1})");
}

TEST(CallFrom, RefusesWhatIsNone) {
    for (const auto* text : {"", "1", "[]", "{}", R"({"method":1})", R"({"method":"a","more":1})",
                             R"({"method":"a","parameters":[]})", R"({"method":"a"} {})"})
        EXPECT_FALSE(call_from(text)) << text;
}

TEST(CallFrom, CountsValuesBeforeItReadsThem) {
    const auto call_of = [](std::size_t items) {
        std::string list = "[1";
        for (std::size_t i = 1; i < items; ++i)
            list += ",1";
        return call_from(R"({"method":"a\\","parameters":{"x":")" + std::string(9000, ',') +
                         R"(\"","y":)" + list + "]}}");
    };
    EXPECT_TRUE(call_of(kMaxValues - 5));
    EXPECT_EQ(call_of(kMaxValues + 1).error().text, "over 4096 values in one call");
}

TEST(Reply, IsOneMessage) {
    EXPECT_EQ(reply("", "{\"a\":1}", false), "{\"parameters\":{\"a\":1}}\0"sv);
    EXPECT_EQ(reply("a.B", "{}", true),
              "{\"error\":\"a.B\",\"parameters\":{},\"continues\":true}\0"sv);
}

}  // namespace varlink_test
}  // namespace gpuprobe::varlink
