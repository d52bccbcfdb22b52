// SPDX-License-Identifier: Apache-2.0
#include "wire/reason.h"

#include <gtest/gtest.h>

#include "base/value_json.h"

namespace gpuprobe::bus {
namespace {

Value object(const char* json) {
    return parse_json(json, kib(64)).value();
}

TEST(BusReason, IsItsCodeAndItsDetailAsJson) {
    EXPECT_EQ(reason_text("asleep", object("{}")), "asleep");
    EXPECT_EQ(reason_text("asleep", Value{}), "asleep");
    EXPECT_EQ(reason_text("driver-too-old", object(R"({"have":"470.1","need":null})")),
              R"(driver-too-old {"have":"470.1","need":null})");
}

TEST(BusReason, IsReadAsItWasWritten) {
    for (const char* detail : {"{}", R"({"have":"a b","list":[1,2.5,null],"deep":{"x":true}})"}) {
        const auto reason = reason_value(reason_text("code", object(detail)));
        EXPECT_EQ(*reason.at("code").as_string(), "code");
        EXPECT_EQ(reason.at("detail"), object(detail)) << detail;
    }
}

TEST(BusReason, IsReadUnderItsNameOfToday) {
    EXPECT_EQ(*reason_value("other-vendor {}").at("code").as_string(), "vendor-mismatch");
}

TEST(BusReason, KeepsTheCodeOfADetailThatIsTooLong) {
    Value detail;
    detail["note"] = std::string(kMaxReasonDetail.count, 'x');
    EXPECT_EQ(reason_text("code", detail), "code");
}

TEST(BusReason, TakesWhatADaemonShouldNotSay) {
    for (const char* text : {"", " ", "code ", "code {", "code [1]", "code 7", "code {} {}"}) {
        const auto reason = reason_value(text);
        EXPECT_TRUE(reason.at("code").as_string()) << text;
        EXPECT_EQ(reason.at("detail"), object("{}")) << text;
    }
}

}  // namespace
}  // namespace gpuprobe::bus
