// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "models.h"
#include "plan/model.h"
#include "plan/need.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace model_document_test {

using support::header_of;
using support::model_named;

TEST(ModelDocument, ContainsTheSameAsTheHeader) {
    for (const char* name : {"llama-3.1-8b", "qwen2.5-14b", "qwen3-32b", "gemma-3-27b"}) {
        SCOPED_TRACE(name);
        const auto model = model_named(name);
        const auto parsed = model_from_document(json_line(model_document_of(header_of(name))));
        ASSERT_TRUE(parsed) << parsed.error().text;
        EXPECT_EQ(parsed->name, model.name);
        EXPECT_EQ(parsed->architecture, model.architecture);
        EXPECT_EQ(parsed->layers, model.layers);
        EXPECT_EQ(parsed->embedding, model.embedding);
        EXPECT_EQ(parsed->output, model.output);
        EXPECT_EQ(parsed->vocabulary, model.vocabulary);
        EXPECT_EQ(parsed->trained_context, model.trained_context);
        EXPECT_EQ(parsed->window, model.window);
        EXPECT_EQ(parsed->has_layer_norm, model.has_layer_norm);
    }
}

std::string document(std::string_view metadata, std::string_view tensors) {
    return R"({"schema":"gpuprobe.model/1","metadata":)" + std::string{metadata} +
           R"(,"tensors":)" + std::string{tensors} + "}";
}

constexpr std::string_view kMetadata =
    R"({"general.architecture":"llama","llama.block_count":1,"llama.embedding_length":64,)"
    R"("llama.attention.head_count":4,"llama.attention.head_count_kv":4,"llama.context_length":64,)"
    R"("llama.attention.layer_norm_rms_epsilon":1e-5})";

TEST(ModelDocument, AcceptsTypesInCapitalsAndKeepsOnlyTheSizesOfTensors) {
    const auto model = model_from_document(
        document(kMetadata, R"([{"name":"blk.0.attn_q.weight","type":"Q4_K","shape":[256,4,2]}])"));
    ASSERT_TRUE(model) << model.error().text;
    EXPECT_EQ(model->layers.front().weights, Bytes{144ULL * 4 * 2});
}

struct Wrong {
    const char* name;
    std::string text;
    const char* problem;
};

class WrongModelDocument : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongModelDocument, IsRefusedWithItsPlace) {
    const auto model = model_from_document(GetParam().text);
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().text.find(GetParam().problem), std::string::npos) << model.error().text;
}

std::string tensor(std::string_view record) {
    return document(kMetadata, "[" + std::string{record} + "]");
}

INSTANTIATE_TEST_SUITE_P(
    All,
    WrongModelDocument,
    ::testing::Values(
        Wrong{"Nothing", "", "model: not JSON"},
        Wrong{"AnotherSchema", R"({"schema":"gpuprobe.model/2"})", "schema: expected"},
        Wrong{"AList", "[]", "schema: expected"},
        Wrong{"AnUnknownMember", R"({"schema":"gpuprobe.model/1","more":1})", "more: unknown"},
        Wrong{"NoMetadata", R"({"schema":"gpuprobe.model/1","tensors":[]})", "metadata: expected"},
        Wrong{"NoTensors", R"({"schema":"gpuprobe.model/1","metadata":{}})", "tensors: expected"},
        Wrong{"ARecordAsValue", document(R"({"a":{}})", "[]"), "metadata: a value"},
        Wrong{"NoArchitecture", document("{}", "[]"), "general.architecture is missing"},
        Wrong{"ATensorWithoutAType", tensor(R"({"name":"a","shape":[1]})"), "tensors[0]: type"},
        Wrong{"AnUnknownType", tensor(R"({"name":"a","type":"q9","shape":[1]})"), "unknown type"},
        Wrong{"NoShape", tensor(R"({"name":"a","type":"f16","shape":[]})"), "0 dimensions"},
        Wrong{"FiveDimensions", tensor(R"({"name":"a","type":"f16","shape":[1,1,1,1,1]})"),
              "5 dimensions"},
        Wrong{"ANegativeLength", tensor(R"({"name":"a","type":"f16","shape":[-1]})"), "shape"},
        Wrong{"HalfABlock", tensor(R"({"name":"a","type":"q4_K","shape":[100]})"),
              "within a block"},
        Wrong{"ATensorTwice",
              tensor(
                  R"({"name":"a","type":"f16","shape":[1]},{"name":"a","type":"f16","shape":[1]})"),
              "not unique"},
        Wrong{"TooLong", document(kMetadata, "[" + std::string(kMaxModelDocument.count, ' ') + "]"),
              "over"}),
    support::case_name);

TEST(ModelDocument, CutAnywhereIsRefused) {
    const auto whole = document(kMetadata, R"([{"name":"a","type":"f16","shape":[1]}])");
    ASSERT_TRUE(model_from_document(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(model_from_document(whole.substr(0, length))) << length;
}

}  // namespace model_document_test
}  // namespace gpuprobe
