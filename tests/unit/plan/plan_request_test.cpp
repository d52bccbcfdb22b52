// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/value.h"
#include "plan/plan.h"
#include "support/case_name.h"
#include "support/places.h"

namespace gpuprobe {
namespace plan_request_test {

Result<PlanRequest> request_of(const std::string& json) {
    return plan_request_from(parse_json(json, kib(4)).value());
}

TEST(PlanRequest, IsDocumented) {
    std::ifstream file{GPUPROBE_SOURCE_DIR "/docs/plan.md"};
    const std::string page{std::istreambuf_iterator<char>{file}, {}};
    const auto start = page.find("## The request");
    ASSERT_NE(start, std::string::npos);
    const auto table = page.substr(start, page.find("\n## ", start) - start);
    std::set<std::string> known;
    for (const auto& key : plan_keys()) {
        known.insert(std::string{key.key});
        EXPECT_FALSE(key.meaning.empty()) << key.key;
        // The cache's type has two options, as in llama.cpp.
        EXPECT_EQ(key.option.empty(), key.key == "kv");
    }
    std::set<std::string> documented;
    const std::regex row{"\n\\| `([a-z-]+)` \\|"};
    for (std::sregex_iterator found{table.begin(), table.end(), row}, end; found != end; ++found)
        documented.insert((*found)[1]);
    EXPECT_EQ(documented, known);
}

TEST(PlanRequest, TakesNumbersAndText) {
    const auto request = request_of(R"({"ctx": "8k", "kv": ["q8_0", "f16"], "streams": 2,
        "flash-attention": "off", "swa-full": true, "tensor-split": "3,1.5", "context-mib": 7})");
    ASSERT_TRUE(request) << request.error().text;
    EXPECT_EQ(request->run.context, 8192U);
    EXPECT_EQ(request->run.keys.name, "q8_0");
    EXPECT_EQ(request->run.values.name, "f16");
    EXPECT_EQ(request->run.streams, 2U);
    EXPECT_EQ(request->flash_attention, FlashAttention::Off);
    EXPECT_TRUE(request->run.keeps_whole_windows);
    EXPECT_EQ(request->tensor_split, (std::vector<float>{3, 1.5}));
    EXPECT_EQ(request->context_overhead, mib(7));
}

TEST(PlanRequest, ComputesTheSmallerBatch) {
    EXPECT_EQ(request_of("{}")->run.batch, 512U);
    EXPECT_EQ(request_of(R"({"batch": 2048})")->run.batch, 2048U);
    EXPECT_EQ(request_of(R"({"ubatch": 1024})")->run.batch, 1024U);
    EXPECT_EQ(request_of(R"({"batch": 2048, "ubatch": 256})")->run.batch, 256U);
    EXPECT_EQ(request_of(R"({"batch": 64, "ubatch": 256})")->run.batch, 64U);
}

struct BadRow {
    const char* name;
    const char* json;
    const char* problem;
};
class BadPlanRequest : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadPlanRequest, IsRefusedInWords) {
    const auto request = request_of(GetParam().json);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(request.error().text, std::string{"request: "} + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadPlanRequest,
    ::testing::Values(
        BadRow{"Unknown", R"({"context": 1})", "context: unknown key; did you mean 'context-mib'?"},
        BadRow{"NoContext", R"({"ctx": 0})", "ctx: '0' is not a number from 1 to 4294967296"},
        BadRow{"NoNumber", R"({"ctx": true})", "ctx: 'true' is not a number from 1 to 4294967296"},
        BadRow{"Mode", R"({"flash-attention": "maybe"})",
               "flash-attention: expected auto, on or off"},
        BadRow{"NoTypes", R"({"kv": []})",
               "kv: expected one type, or one type for keys and one for values"},
        BadRow{"Infinite", R"({"tensor-split": ["inf"]})",
               "tensor-split: 'inf' is not a non-negative number"},
        BadRow{"QuantizedValues", R"({"kv": "q4_0", "flash-attention": "off"})",
               "kv: values in q4_0 need flash attention"},
        BadRow{"NeedAndContext", R"({"need-mib": 1, "ctx": 1})",
               "need-mib can be combined only with gpus, application and margin-mib"}),
    support::case_name);

}  // namespace plan_request_test
}  // namespace gpuprobe
