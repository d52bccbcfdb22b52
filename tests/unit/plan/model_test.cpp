// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <gtest/gtest.h>

#include "models.h"
#include "plan/layers.h"
#include "plan/need.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace model_test {

using support::header_of;
using support::made;
using support::model_named;
using Numbers = std::vector<std::int64_t>;

TEST(Model, HasTheShapeOfItsHeader) {
    const auto model = model_named("llama-3.1-8b");
    EXPECT_EQ(model.name, "Llama 3.1 8B");
    EXPECT_EQ(model.architecture, "llama");
    ASSERT_EQ(model.layers.size(), 32U);
    EXPECT_EQ(model.layers[0].key_heads, 8U);
    EXPECT_EQ(model.layers[0].key_length, 128U);  // 4096 / 32, because the file lacks the value
    EXPECT_EQ(model.layers[0].value_length, 128U);
    EXPECT_EQ(model.vocabulary, 128256U);
    EXPECT_EQ(model.trained_context, 131072U);
    EXPECT_TRUE(model.notes.empty());
}

TEST(Model, PutsEachTensorInOnePlace) {
    const auto gguf = header_of("llama-3.1-8b");
    const auto model = model_of(gguf).value();
    std::uint64_t in_file = 0;
    for (const auto& tensor : gguf.tensors)
        in_file += tensor.size.count;
    auto in_model = model.embedding.count + model.output.count;
    for (const auto& layer : model.layers)
        in_model += layer.weights.count;
    EXPECT_EQ(in_model, in_file);
    EXPECT_EQ(model.embedding, Bytes{128256ULL * 4096 / 256 * 144});
    EXPECT_EQ(model.output, Bytes{128256ULL * 4096 / 256 * 210 + 4096 * 4});  // plus a norm
}

TEST(Model, WithTiedEmbeddingHasItOnBothSides) {
    const auto model = model_named("gemma-3-27b");
    EXPECT_EQ(model.output, Bytes{model.embedding.count + 5376 * 4});  // plus a norm
}

TEST(Model, OfGemmaSeesAWindowInFiveOfSixLayers) {
    const auto model = model_named("gemma-3-27b");
    EXPECT_EQ(model.window, 1024U);
    EXPECT_EQ(std::count_if(model.layers.begin(), model.layers.end(),
                            [](const LayerShape& layer) { return !layer.is_windowed; }),
              10);
    EXPECT_FALSE(model.layers[5].is_windowed);
    EXPECT_TRUE(model.layers[61].is_windowed);
}

TEST(Model, HasAnIndexerInTheLayersWhoseTensorsSaySo) {
    auto gguf = made("minimax-m3", 2, {{"attention.indexer.key_length", std::int64_t{128}}});
    for (const auto* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.1.attn_q.weight",
                             "blk.1.indexer.k_proj.weight"})
        gguf.tensors.push_back({.name = name, .size = kib(4), .rows = 1});
    const auto model = model_of(gguf).value();
    EXPECT_EQ(model.layers[0].index_length, 0U);
    EXPECT_EQ(model.layers[1].index_length, 128U);
    EXPECT_TRUE(model.layers[1].has_index_values);
}

TEST(Model, OfT5HasTwoHalvesInEachLayer) {
    auto gguf = made("t5", 2, {{"context_length", std::int64_t{512}}});
    for (const auto* name : {"enc.blk.0.attn_q.weight", "dec.blk.0.attn_q.weight",
                             "dec.blk.1.cross_attn_q.weight", "enc.blk.1.attn_q.weight"})
        gguf.tensors.push_back({.name = name, .size = kib(4), .rows = 1});
    const auto model = model_of(gguf).value();
    EXPECT_EQ(model.layers[0].weights, kib(8));
    EXPECT_EQ(model.layers[1].weights, kib(8));
    EXPECT_FALSE(model.layers[0].work.crosses);
    EXPECT_TRUE(model.layers[1].work.crosses);
    EXPECT_EQ(model.encoded, 512U);
    EXPECT_TRUE(model.has_logits);
}

/// Encoders do not use the embedding as an output, and predict no token.
TEST(Model, OfAnEncoderHasNoOutput) {
    auto gguf = made("nomic-bert", 1, {});
    gguf.tensors = {{.name = "token_embd.weight", .size = kib(4), .rows = 1}};
    const auto model = model_of(gguf).value();
    EXPECT_EQ(model.output, Bytes{});
    EXPECT_EQ(model.embedding, kib(4));
    EXPECT_FALSE(model.has_logits);
    EXPECT_TRUE(model.attends_batch);
    EXPECT_FALSE(model.layers[0].work.has_sum_norms);
    for (const auto* name : {"blk.0.attn_output_norm.weight", "blk.0.layer_output_norm.weight"})
        gguf.tensors.push_back({.name = name, .size = kib(4), .rows = 1});
    EXPECT_TRUE(model_of(gguf)->layers[0].work.has_sum_norms);
}

/// llama.cpp counts such a layer in --n-gpu-layers, but does not load it.
TEST(Model, DoesNotLoadNextTokenLayers) {
    auto gguf = made("glm4moe", 2, {{"nextn_predict_layers", std::int64_t{1}}});
    gguf.tensors = {{.name = "blk.0.attn_q.weight", .size = kib(4), .rows = 1},
                    {.name = "blk.1.attn_q.weight", .size = kib(4), .rows = 1}};
    const auto model = model_of(gguf).value();
    ASSERT_EQ(model.layers.size(), 2U);
    EXPECT_EQ(model.layers[0].weights, kib(4));
    EXPECT_EQ(model.layers[1].weights, Bytes{});
    EXPECT_TRUE(model.layers[1].is_unused);
}

TEST(Model, WithAnUnknownWindowIsMarked) {
    const auto model =
        model_of(made("mistral9", 2, {{"attention.sliding_window", std::int64_t{512}}})).value();
    ASSERT_EQ(model.notes.size(), 1U);
    EXPECT_EQ(model.notes[0].code, "window-ignored");
    EXPECT_FALSE(model.layers[0].is_windowed);
}

struct CacheRow {
    const char* name;
    const char* architecture;
    std::map<std::string, GgufValue> values;
    std::uint64_t bytes;  ///< cache of all layers at 1024 tokens, in f16
};
class Cache : public ::testing::TestWithParam<CacheRow> {};

TEST_P(Cache, IsTheCacheThatTheRuntimeKeeps) {
    const auto model = model_of(made(GetParam().architecture, 4, GetParam().values)).value();
    EXPECT_EQ(cache_of(model, {.context = 1024, .batch = 56}).count, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Cache,
    ::testing::Values(
        CacheRow{"AsManyAsQueries", "llama", {}, 4ULL * 16 * (64 + 64) * 2 * 1024},
        CacheRow{"Grouped",
                 "llama",
                 {{"attention.head_count_kv", std::int64_t{2}}},
                 4ULL * 2 * (64 + 64) * 2 * 1024},
        CacheRow{"ByLayer",
                 "llama",
                 {{"attention.head_count_kv", Numbers{4, 0, 2, 1}}},
                 7ULL * (64 + 64) * 2 * 1024},
        CacheRow{"OwnLengths",
                 "qwen3",
                 {{"attention.head_count_kv", std::int64_t{2}},
                  {"attention.key_length", std::int64_t{128}},
                  {"attention.value_length", std::int64_t{96}}},
                 4ULL * 2 * (128 + 96) * 2 * 1024},
        CacheRow{"Windowed",
                 "gemma2",
                 {{"attention.sliding_window", std::int64_t{200}}},
                 2ULL * 16 * 128 * 2 * 1024 + 2ULL * 16 * 128 * 2 * 256},
        CacheRow{"WindowOverTheContext",
                 "gemma2",
                 {{"attention.sliding_window", std::int64_t{901}}},
                 4ULL * 16 * 128 * 2 * 1024},
        CacheRow{"NarrowInTheWindow",
                 "gemma4",
                 {{"attention.sliding_window", std::int64_t{200}},
                  {"attention.sliding_window_pattern", Numbers{1, 0}},
                  {"attention.key_length_swa", std::int64_t{32}},
                  {"attention.value_length_swa", std::int64_t{32}}},
                 2ULL * 16 * 128 * 2 * 1024 + 2ULL * 16 * 64 * 2 * 256},
        CacheRow{"Latent",
                 "deepseek2",
                 {{"attention.head_count_kv", std::int64_t{1}},
                  {"attention.kv_lora_rank", std::int64_t{512}},
                  {"rope.dimension_count", std::int64_t{64}},
                  {"attention.key_length_mla", std::int64_t{192}}},
                 4ULL * (512 + 64) * 2 * 1024},
        CacheRow{"Indexer",
                 "deepseek32",
                 {{"attention.head_count_kv", std::int64_t{1}},
                  {"attention.kv_lora_rank", std::int64_t{512}},
                  {"rope.dimension_count", std::int64_t{64}},
                  {"attention.key_length_mla", std::int64_t{192}},
                  {"attention.indexer.key_length", std::int64_t{128}}},
                 4ULL * (512 + 64 + 128) * 2 * 1024},
        CacheRow{"IndexerWithValues",
                 "minimax-m3",
                 {{"attention.head_count_kv", std::int64_t{2}},
                  {"attention.indexer.key_length", std::int64_t{128}}},
                 4ULL * (2 * 128 + 2 * 128) * 2 * 1024},
        CacheRow{"Compressed",
                 "deepseek4",
                 {{"attention.head_count_kv", std::int64_t{1}},
                  {"attention.key_length", std::int64_t{512}},
                  {"attention.sliding_window", std::int64_t{128}},
                  {"attention.indexer.key_length", std::int64_t{128}},
                  {"attention.compress_ratios", Numbers{0, 0, 4, 128}}},
                 (4ULL * 512 + 512 + 128 + 512) * 2 * 256 + 8 * (8 * 2 * (512 + 128) + 128 * 512)},
        CacheRow{"LatentButExpanded",
                 "deepseek2",
                 {{"attention.head_count_kv", std::int64_t{16}},
                  {"attention.kv_lora_rank", std::int64_t{512}},
                  {"attention.key_length", std::int64_t{192}},
                  {"attention.value_length", std::int64_t{128}}},
                 4ULL * 16 * (192 + 128) * 2 * 1024},
        CacheRow{"SharedLayers",
                 "gemma3n",
                 {{"attention.shared_kv_layers", std::int64_t{3}}},
                 1ULL * 16 * 128 * 2 * 1024},
        CacheRow{
            "MoreSharedThanThere", "gemma3n", {{"attention.shared_kv_layers", std::int64_t{9}}}, 0},
        CacheRow{"EncoderHasNone", "bert", {}, 0},
        CacheRow{"DiffusionHasNone", "dream", {}, 0},
        CacheRow{"NextTokenLayer",
                 "glm4",
                 {{"nextn_predict_layers", std::int64_t{1}}},
                 3ULL * 16 * 128 * 2 * 1024},
        CacheRow{"Mamba",
                 "mamba",
                 {{"attention.head_count", std::int64_t{0}},
                  {"ssm.inner_size", std::int64_t{2048}},
                  {"ssm.state_size", std::int64_t{16}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 4ULL * 4 * (3 * 2048 + 16 * 2048)},
        CacheRow{"Hybrid",
                 "jamba",
                 {{"attention.head_count_kv", Numbers{0, 0, 0, 8}},
                  {"ssm.inner_size", std::int64_t{2048}},
                  {"ssm.state_size", std::int64_t{16}},
                  {"ssm.group_count", std::int64_t{2}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 3ULL * 4 * (3 * (2048 + 2 * 2 * 16) + 16 * 2048) + 8ULL * 128 * 2 * 1024},
        CacheRow{"EveryFourthAttends",
                 "qwen3next",
                 {{"full_attention_interval", std::int64_t{4}},
                  {"ssm.inner_size", std::int64_t{2048}},
                  {"ssm.state_size", std::int64_t{16}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 3ULL * 4 * (3 * 2048 + 16 * 2048) + 16ULL * 128 * 2 * 1024},
        CacheRow{"Rwkv",
                 "rwkv7",
                 {{"attention.head_count", std::int64_t{0}}, {"wkv.head_size", std::int64_t{64}}},
                 4ULL * 4 * 1024 * (2 + 64)},
        CacheRow{"KimiDelta",
                 "kimi-linear",
                 {{"attention.head_count_kv", Numbers{0, 0, 0, 1}},
                  {"attention.kv_lora_rank", std::int64_t{512}},
                  {"attention.key_length_mla", std::int64_t{192}},
                  {"rope.dimension_count", std::int64_t{64}},
                  {"kda.head_dim", std::int64_t{128}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 3ULL * 4 * 16 * 128 * (3 * 3 + 128) + 576ULL * 2 * 1024},
        CacheRow{"Lightning",
                 "minimax-01",
                 {{"attention.key_length", std::int64_t{128}},
                  {"attention.value_length", std::int64_t{128}}},
                 4ULL * 4 * 16 * 128 * 128},
        CacheRow{"LayersThatRecurAreNamed",
                 "minimax-01",
                 {{"attention.recurrent_layers", Numbers{1, 0, 1, 1}},
                  {"attention.key_length", std::int64_t{128}},
                  {"attention.value_length", std::int64_t{128}}},
                 3ULL * 4 * 16 * 128 * 128 + 16ULL * 256 * 2 * 1024},
        CacheRow{"NetworksKeepNothing",
                 "nemotron_h",
                 {{"attention.head_count_kv", Numbers{0, 0, 8, 0}},
                  {"feed_forward_length", Numbers{0, 4096, 0, 4096}},
                  {"ssm.inner_size", std::int64_t{2048}},
                  {"ssm.state_size", std::int64_t{16}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 1ULL * 4 * (3 * 2048 + 16 * 2048) + 8ULL * 128 * 2 * 1024},
        CacheRow{"NextTokenLayerDoesNotRecur",
                 "qwen35",
                 {{"full_attention_interval", std::int64_t{4}},
                  {"nextn_predict_layers", std::int64_t{2}},
                  {"ssm.inner_size", std::int64_t{2048}},
                  {"ssm.state_size", std::int64_t{16}},
                  {"ssm.conv_kernel", std::int64_t{4}}},
                 2ULL * 4 * (3 * 2048 + 16 * 2048)},
        CacheRow{"ShortConvolution",
                 "lfm2",
                 {{"attention.head_count_kv", Numbers{0, 8, 0, 8}},
                  {"shortconv.l_cache", std::int64_t{3}}},
                 2ULL * 4 * 1024 * 2 + 2ULL * 8 * 128 * 2 * 1024}),
    support::case_name);

/// Gemma 4 has wide layers with a window and narrow layers with full attention, and other models
/// have layers of width 0. llama.cpp pads the values of all these layers.
TEST(Model, HasItsWidestValuesInEveryLayerWithoutFlashAttention) {
    const auto model = model_of(made("gemma4", 4,
                                     {{"attention.head_count_kv", Numbers{4, 1, 4, 0}},
                                      {"attention.sliding_window", std::int64_t{200}},
                                      {"attention.sliding_window_pattern", Numbers{1, 0}}}))
                           .value();
    RunShape run{.context = 1024, .batch = 56};
    EXPECT_EQ(cache_of(model, run).count, (64ULL + 64) * 2 * (1024 + 2 * 4 * 256));
    run.flash_attention = false;
    EXPECT_EQ(cache_of(model, run).count,
              64ULL * 2 * (1024 + 2 * 4 * 256) + 4ULL * 64 * 2 * 2 * (1024 + 256));
}

struct BadRow {
    const char* name;
    std::map<std::string, GgufValue> values;
    const char* tensor;
    ErrorCode code;
    const char* problem;
};
class NoModel : public ::testing::TestWithParam<BadRow> {};

TEST_P(NoModel, IsRefusedInWords) {
    Gguf gguf{.version = 3, .values = GetParam().values};
    if (*GetParam().tensor != '\0')
        gguf.tensors = {{.name = GetParam().tensor, .size = kib(1), .rows = 1}};
    const auto model = model_of(gguf);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, GetParam().code);
    EXPECT_EQ(model.error().text, GetParam().problem);
}

const std::string kLlama = "llama";
INSTANTIATE_TEST_SUITE_P(
    Table,
    NoModel,
    ::testing::Values(
        BadRow{"Nothing",
               {},
               "",
               ErrorCode::InvalidRequest,
               "general.architecture is missing: not a language model that gpuprobe can plan for"},
        BadRow{"Projector",
               {{"general.architecture", std::string{"clip"}},
                {"general.type", std::string{"mmproj"}}},
               "",
               ErrorCode::InvalidRequest,
               "general.type is mmproj: not a language model that gpuprobe can plan for"},
        BadRow{"NoLayers",
               {{"general.architecture", kLlama}},
               "",
               ErrorCode::InvalidRequest,
               "llama.block_count is missing: not a language model that gpuprobe can plan for"},
        BadRow{"ZeroLayers",
               {{"general.architecture", kLlama}, {"llama.block_count", std::int64_t{0}}},
               "",
               ErrorCode::Malformed,
               "llama.block_count is 0, not 1 to 1024"},
        BadRow{"TooManyLayers",
               {{"general.architecture", kLlama}, {"llama.block_count", std::int64_t{1025}}},
               "",
               ErrorCode::Malformed,
               "llama.block_count is 1025, not 1 to 1024"},
        BadRow{
            "NoWidth",
            {{"general.architecture", kLlama}, {"llama.block_count", std::int64_t{2}}},
            "",
            ErrorCode::InvalidRequest,
            "llama.embedding_length is missing: not a language model that gpuprobe can plan for"},
        BadRow{"NoHeads",
               {{"general.architecture", kLlama},
                {"llama.block_count", std::int64_t{2}},
                {"llama.embedding_length", std::int64_t{256}}},
               "",
               ErrorCode::InvalidRequest,
               "llama.attention.head_count is missing: not a language model that gpuprobe can plan "
               "for"},
        BadRow{"TensorOfNoLayer",
               {{"general.architecture", kLlama},
                {"llama.block_count", std::int64_t{2}},
                {"llama.embedding_length", std::int64_t{256}},
                {"llama.attention.head_count", std::int64_t{2}}},
               "blk.2.attn_q.weight",
               ErrorCode::Malformed,
               "blk.2.attn_q.weight: not a layer of the model, whose number of layers is 2"}),
    support::case_name);

struct WrongKeyRow {
    const char* name;
    const char* key;
    GgufValue value;
    const char* problem;
};
class WrongKey : public ::testing::TestWithParam<WrongKeyRow> {};

TEST_P(WrongKey, IsNotTakenForMissing) {
    const auto model = model_of(made("llama", 4, {{GetParam().key, GetParam().value}}));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::Malformed);
    EXPECT_EQ(model.error().text, std::string{"llama."} + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    WrongKey,
    ::testing::Values(WrongKeyRow{"Text", "block_count", std::string{"32"},
                                  "block_count is not a non-negative integer"},
                      WrongKeyRow{"NoHeads", "attention.head_count", std::int64_t{0},
                                  "attention.head_count is 0 in every layer"},
                      WrongKeyRow{"Negative", "attention.head_count_kv", std::int64_t{-8},
                                  "attention.head_count_kv is not a non-negative integer"},
                      WrongKeyRow{"ListForANumber", "attention.key_length", Numbers{64, 64, 64, 64},
                                  "attention.key_length is not a non-negative integer"},
                      WrongKeyRow{
                          "ShortList", "attention.head_count_kv", Numbers{8, 8, 8},
                          "attention.head_count_kv has no non-negative integer for layer 3"},
                      WrongKeyRow{"NegativeInAList", "feed_forward_length", Numbers{8, -8, 8, 8},
                                  "feed_forward_length has no non-negative integer for layer 1"},
                      WrongKeyRow{"Window", "attention.sliding_window", std::string{"512"},
                                  "attention.sliding_window is not a non-negative integer"}),
    support::case_name);

/// The value in the file is 32.0, and floating-point values are not stored.
TEST(Model, WithAFloatWhereANumberBelongsIsRefused) {
    auto gguf = made("llama", 2, {});
    gguf.values.erase("llama.attention.head_count");
    gguf.keys.insert("llama.attention.head_count");
    EXPECT_EQ(model_of(gguf).error().text,
              "llama.attention.head_count is not a non-negative integer");
}

/// Mebibytes that llama.cpp reserved for an encoder of images, with flash attention and without.
/// Sources: ggml-org/llama.cpp pull request 16837 and gpustack/gguf-parser-go issue 44.
struct ProjectorCase {
    std::string name;
    std::map<std::string, GgufValue> values;
    double with_flash;
    double without;
};

TEST(Projector, NeedsTheMemoryThatLlamaCppReserved) {
    const GgufValue deep = Numbers{0, 1, 1, 1};
    const std::vector<ProjectorCase> cases = {
        {"gemma3",
         {{"image_size", 896}, {"patch_size", 14}, {"embedding_length", 1152}},
         121,
         1132},
        {"qwen2vl_merger", {{"embedding_length", 1280}, {"feed_forward_length", 5120}}, 267, 4598},
        {"qwen2.5vl_merger",
         {{"embedding_length", 1280}, {"feed_forward_length", 3420}, {"n_wa_pattern", 8}},
         705,
         4872},
        {"qwen3vl_merger", {{"embedding_length", 1152}, {"is_deepstack_layers", deep}}, 323, 4728}};
    for (const auto& [name, values, with_flash, without] : cases) {
        Gguf gguf{.values = {{"general.architecture", "clip"},
                             {"clip.projector_type", name},
                             {"clip.vision.feed_forward_length", 4304},
                             {"clip.vision.attention.head_count", 16}}};
        for (const auto& [key, value] : values)
            gguf.values.insert_or_assign("clip.vision." + key, value);
        gguf.tensors.push_back({.name = "v.blk.0.ffn_up.weight", .size = Bytes{12345}});
        const auto projector = projector_of(gguf).value();
        EXPECT_EQ(projector.weights, Bytes{12345});
        const auto in_mib = [](Bytes bytes) {
            return static_cast<double>(bytes.count) / 1048576.0;
        };
        EXPECT_NEAR(in_mib(projector.compute) / with_flash, 1, 0.13) << name;
        EXPECT_NEAR(in_mib(projector.compute_without_flash) / without, 1, 0.01) << name;
    }
}

TEST(Projector, RefusesAModel) {
    EXPECT_EQ(projector_of(header_of("llama-3.1-8b")).error().code, ErrorCode::InvalidRequest);
}

}  // namespace model_test
}  // namespace gpuprobe
