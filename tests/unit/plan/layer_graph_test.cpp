// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models.h"
#include "plan/compute_graph.h"

/// Tests of src/plan/layer_graph.cpp: the memory for each kind of layer.
namespace gpuprobe {
namespace layer_graph_test {

using support::model_named;

/// The memory that llama.cpp v0.5.0 needs for each token and cell: a score and two masks, or two
/// masks for each head.
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

/// The memory for each cell and token: the scores of each head, and two results that shift them.
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

/// On an H200 llama.cpp v0.5.0 reserved 672 MiB for this, and without the rule it would be 160.
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

}  // namespace layer_graph_test
}  // namespace gpuprobe
