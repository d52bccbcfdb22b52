// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "models.h"
#include "plan/compute_graph.h"
#include "support/case_name.h"

/// Tests of src/plan/layer_graph.cpp: the memory for each kind of layer.
namespace gpuprobe {
namespace layer_graph_test {

using support::model_named;

/// llama.cpp v0.5.0 needs memory for each token and cell: a score and two masks, or two masks for
/// each head.
TEST(Compute, IncludesTheScoresOfAnIndexer) {
    constexpr std::uint64_t kCells = 131072;
    auto model = model_named("llama-3.1-8b");
    for (auto& layer : model.layers) {
        layer.index_length = 128;
        layer.work.index_heads = 4;
    }
    const auto needs = [&](std::uint64_t each) {
        const auto bytes = compute_of(model, {.context = kCells}, whole(model)).count;
        return bytes > kCells * 512 * each && bytes < kCells * 512 * (each + 6);
    };
    EXPECT_TRUE(needs(8));
    for (auto& layer : model.layers)
        layer.has_index_values = true;
    EXPECT_TRUE(needs(4 * (2 * 4 + 1)));
}

TEST(Compute, OfAnEncoderIsTheBatchs) {
    auto model = model_named("llama-3.1-8b");
    model.attends_batch = true;
    model.has_logits = false;
    RunShape run{.context = 4096, .flash_attention = false};
    const auto bytes = compute_of(model, run, whole(model));
    run.context = 131072;
    EXPECT_EQ(compute_of(model, run, whole(model)), bytes);
    EXPECT_GT(bytes.count, 512ULL * 512 * 32 * 4);  // scores
}

/// llama.cpp needs memory for each cell and token: the score of each head, and two results that
/// shift the scores.
TEST(Compute, HasRoomForABiasByPosition) {
    constexpr std::uint64_t kCells = 32768;
    auto model = model_named("llama-3.1-8b");
    for (auto& layer : model.layers)
        layer.work.has_position_bias = true;
    const auto bytes = compute_of(model, {.context = kCells}, whole(model)).count;
    EXPECT_GT(bytes, kCells * 512 * 32 * 4 * 3);
    EXPECT_LT(bytes, kCells * 512 * 32 * 4 * 4);
}

/// A layer of T5 also attends to the output of the encoder.
TEST(Compute, HasRoomForAnEncodersTokens) {
    auto model = model_named("llama-3.1-8b");
    const auto before = compute_of(model, {}, whole(model)).count;
    model.encoded = 65536;
    for (auto& layer : model.layers)
        layer.work.crosses = true;
    EXPECT_GT(compute_of(model, {}, whole(model)).count, before + 65536ULL * 4096 * 4);
}

/// BERT large, whose norms come after the additions: llama.cpp v0.5.0 reserves 14.51 MiB.
TEST(Compute, OfBertIsTheMemoryThatTheRuntimeReserves) {
    const LayerShape layer{.key_heads = 16,
                           .key_length = 64,
                           .value_length = 64,
                           .work = {.heads = 16,
                                    .has_positions = false,
                                    .has_first_norm = false,
                                    .has_second_norm = false,
                                    .has_sum_norms = true,
                                    .form = ForwardForm::Plain,
                                    .inner = 4096}};
    const Model model{.layers = std::vector<LayerShape>(24, layer),
                      .embedding_length = 1024,
                      .attends_batch = true,
                      .has_logits = false,
                      .has_layer_norm = true};
    auto part = whole(model);
    part.is_host = true;
    EXPECT_NEAR(static_cast<double>(compute_of(model, {}, part).count) / (1U << 20U), 14.51, 0.02);
}

/// On an H200, llama.cpp v0.5.0 reserved 672 MiB for this model. Without the rule, the estimate
/// would be 160 MiB.
TEST(Compute, WidensAQuantizedCacheOnCuda) {
    const auto model = model_named("llama-3.1-8b");
    RunShape run{.context = 131072,
                 .keys = *cache_type("q8_0"),
                 .values = *cache_type("q8_0"),
                 .widens_cache = true};
    const auto bytes = compute_of(model, run, whole(model));
    EXPECT_NEAR(static_cast<double>(bytes.count) / (1U << 20U), 672, 13);
    run.keys = run.values = *cache_type("f16");
    const auto half = compute_of(model, run, whole(model));
    run.widens_cache = false;
    EXPECT_EQ(compute_of(model, run, whole(model)), half);
}

/// A layer with attention and a feed-forward network of the given width.
LayerShape layer_with(std::uint64_t heads,
                      std::uint64_t key_heads,
                      std::uint64_t length,
                      std::uint64_t inner) {
    return {.key_heads = key_heads,
            .key_length = length,
            .value_length = length,
            .is_cached = true,
            .work = {.heads = heads, .inner = inner}};
}

Model model_with(std::string architecture,
                 std::vector<LayerShape> layers,
                 std::uint64_t width,
                 std::uint64_t vocabulary) {
    Model model{.architecture = std::move(architecture),
                .layers = std::move(layers),
                .embedding_length = width,
                .vocabulary = vocabulary};
    for (const auto& layer : model.layers)
        model.widest_values = std::max(model.widest_values, layer.key_heads * layer.value_length);
    return model;
}

Model openelm() {
    constexpr std::array<std::uint64_t, 8> kHeads{16, 16, 16, 20, 20, 20, 24, 24};
    std::vector<LayerShape> layers;
    for (std::size_t i = 0; i < kHeads.size(); ++i) {
        layers.push_back(layer_with(kHeads.at(i), kHeads.at(i) / 4, 64, 1024 + 512 * i));
        layers.back().work.is_fused = true;
    }
    return model_with("openelm", layers, 2048, 32000);
}

Model narrow_gpt_oss() {
    auto layer = layer_with(64, 8, 64, 0);
    layer.work.experts = 16;
    layer.work.experts_used = 4;
    layer.work.expert_inner = 1024;
    auto model = model_with("gpt-oss", std::vector<LayerShape>(6, layer), 1024, 201088);
    for (std::size_t i = 0; i < model.layers.size(); i += 2)
        model.layers[i].is_windowed = true;
    model.window = 128;
    return model;
}

Model gptneox() {
    auto layer = layer_with(64, 64, 96, 24576);
    layer.work.is_fused = true;
    layer.work.is_parallel = true;
    layer.work.form = ForwardForm::Plain;
    auto model = model_with("gptneox", std::vector<LayerShape>(4, layer), 6144, 50432);
    model.has_layer_norm = true;
    return model;
}

Model phi3() {
    auto layer = layer_with(32, 32, 96, 8192);
    layer.work.is_fused = true;
    layer.work.form = ForwardForm::Fused;
    return model_with("phi3", std::vector<LayerShape>(6, layer), 3072, 32064);
}

/// One in four layers does not rotate by position.
Model smollm3() {
    auto model = model_with("smollm3", std::vector<LayerShape>(8, layer_with(16, 4, 128, 11008)),
                            2048, 128256);
    model.layers[3].work.has_positions = model.layers[7].work.has_positions = false;
    return model;
}

Model lfm2() {
    auto attention = layer_with(32, 8, 64, 8192);
    auto convolution = layer_with(32, 0, 64, 8192);
    convolution.is_cached = false;
    convolution.is_recurrent = true;
    convolution.work.recurrence = Recurrence::ShortConvolution;
    convolution.work.inner_size = 2048;
    convolution.work.kernel = 2;
    return model_with("lfm2", {convolution, convolution, attention, convolution}, 2048, 65536);
}

Model falcon_h1() {
    auto layer = layer_with(8, 2, 128, 8192);
    layer.work.recurrence = Recurrence::Mamba2;
    layer.work.inner_size = 4096;
    layer.work.state_size = 256;
    layer.work.groups = 1;
    layer.work.kernel = 3;
    layer.work.time_step_rank = 64;
    return model_with("falcon-h1", std::vector<LayerShape>(4, layer), 2048, 65568);
}

/// Gemma 4 with six layers, each of which has 256 additional embeddings.
Model gemma4() {
    auto layer = layer_with(8, 2, 256, 10240);
    layer.is_windowed = true;
    std::vector<LayerShape> layers(5, layer);
    layers.push_back(layer_with(8, 2, 512, 10240));
    auto model = model_with("gemma4", layers, 2560, 262144);
    model.window = 512;
    model.extra_width = 6 * 256;
    return model;
}

struct LayersRow {
    const char* name;
    Model (*made)();
    std::uint64_t context;
    const char* keys;
    const char* values;
    bool flash;
    double mebibytes;
};
class ComputeOfLayers : public ::testing::TestWithParam<LayersRow> {};

/// "CPU compute buffer size" of llama.cpp v0.5.0 for these layers (tests/runtimes has the files).
TEST_P(ComputeOfLayers, IsTheMemoryThatTheRuntimeReserves) {
    const auto& row = GetParam();
    const auto model = row.made();
    auto part = whole(model);
    part.is_host = true;
    const RunShape run{.context = row.context,
                       .keys = *cache_type(row.keys),
                       .values = *cache_type(row.values),
                       .flash_attention = row.flash};
    EXPECT_NEAR(static_cast<double>(compute_of(model, run, part).count) / (1U << 20U),
                row.mebibytes, 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ComputeOfLayers,
    ::testing::Values(
        // The rows of the stream are extracted before the attention's output is projected.
        LayersRow{"OpenElm", openelm, 16384, "f16", "f16", true, 90.51},
        LayersRow{"OpenElmQuantized", openelm, 8192, "q8_0", "q8_0", true, 74.54},
        LayersRow{"OpenElmQuantizedKeys", openelm, 8192, "q8_0", "f16", false, 421.03},
        // The tensor from which rows are extracted is an output.
        LayersRow{"GptOss", narrow_gpt_oss, 2048, "f16", "f16", true, 407.52},
        LayersRow{"GptOssLong", narrow_gpt_oss, 32768, "f16", "f16", true, 398.75},
        LayersRow{"GptNeox", gptneox, 4096, "f16", "f16", true, 122.50},
        // Heads of 96 numbers are not rotated by a matrix.
        LayersRow{"Phi3Quantized", phi3, 8192, "q8_0", "q8_0", true, 74.63},
        LayersRow{"SmolLm3", smollm3, 4096, "f16", "f16", false, 262.50},
        // The state of the next layer is read before the layer ends.
        LayersRow{"Lfm2", lfm2, 4096, "f16", "f16", true, 144.01},
        LayersRow{"Lfm2Short", lfm2, 512, "f16", "f16", true, 140.51},
        LayersRow{"FalconH1", falcon_h1, 2048, "f16", "f16", true, 142.08},
        LayersRow{"Gemma4", gemma4, 32768, "f16", "f16", true, 563.52},
        LayersRow{"Gemma4Off", gemma4, 4096, "f16", "f16", false, 527.00}),
    support::case_name);

}  // namespace layer_graph_test
}  // namespace gpuprobe
