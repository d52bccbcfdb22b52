// SPDX-License-Identifier: Apache-2.0
#include "plan/compute_graph.h"

#include <gtest/gtest.h>

#include "models.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace {

using testing::model_named;

TEST(GraphMemory, FreesWhatNobodyReadsAnyMore) {
    GraphMemory memory;
    const auto first = memory.result(100, {});
    const auto second = memory.result(50, {first});
    (void)memory.result(100, {second});  // where the first was
    EXPECT_EQ(memory.peak(1), Bytes{150});
}

TEST(GraphMemory, WorksInPlaceWhereOneReads) {
    GraphMemory alone;
    (void)alone.in_place(100, {alone.result(100, {})});
    EXPECT_EQ(alone.peak(1), Bytes{100});

    GraphMemory shared;
    const auto source = shared.result(100, {});
    (void)shared.in_place(100, {source});
    shared.read({source});
    EXPECT_EQ(shared.peak(1), Bytes{200});

    GraphMemory smaller;
    (void)smaller.in_place(60, {smaller.result(100, {})});
    EXPECT_EQ(smaller.peak(1), Bytes{160});
}

TEST(GraphMemory, KeepsInputsFromTheBeginning) {
    GraphMemory memory;
    const auto first = memory.result(100, {});
    const auto late = memory.input(30);
    memory.read({first, late});
    EXPECT_EQ(memory.peak(1), Bytes{130});
    EXPECT_EQ(memory.peak(64), Bytes{192});
}

TEST(GraphMemory, TakesTheSmallestBlockThatIsLargeEnough) {
    GraphMemory memory;
    const auto large = memory.result(100, {});
    const auto one = memory.result(1, {});
    const auto small = memory.result(50, {});
    const auto two = memory.result(1, {});
    memory.read({large});
    memory.read({small});
    const auto fits = memory.result(40, {});   // into the small block
    const auto other = memory.result(90, {});  // into the large one
    memory.read({one, two, fits, other});
    EXPECT_EQ(memory.peak(1), Bytes{152});
}

struct ComputeRow {
    const char* name;
    const char* model;
    std::uint64_t context;
    bool flash;
    double mebibytes;
};
class Compute : public ::testing::TestWithParam<ComputeRow> {};

/// "CPU compute buffer size" of llama.cpp v0.5.0 for the same shapes (tests/runtimes has more).
TEST_P(Compute, IsWhatTheRuntimeReserves) {
    const auto model = model_named(GetParam().model);
    auto part = whole(model);
    part.is_host = true;
    const auto bytes = compute_of(
        model, {.context = GetParam().context, .flash_attention = GetParam().flash}, part);
    EXPECT_NEAR(static_cast<double>(bytes.count) / (1U << 20U), GetParam().mebibytes, 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Compute,
    ::testing::Values(ComputeRow{"Llama", "llama-3.1-8b", 4096, true, 266.50},
                      ComputeRow{"LlamaOff", "llama-3.1-8b", 4096, false, 308.01},
                      ComputeRow{"Qwen3", "qwen3-32b", 4096, true, 316.75},
                      ComputeRow{"Qwen3Off", "qwen3-32b", 4096, false, 586.01}),
    testing::case_name);

TEST(Compute, OfNothingIsNothing) {
    const auto model = model_named("llama-3.1-8b");
    EXPECT_EQ(compute_of(model, {}, {}), Bytes{});
}

/// Two layers of Qwen3-VL add an input each, which comes with the embedding. They are over before
/// the logits, which are left out here, and of what they take a part was free before.
TEST(Compute, HasRoomForTheInputsOfDeepLayers) {
    auto model = model_named("qwen3-32b");
    model.has_logits = false;
    const RunShape run{.context = 4096};
    const auto before = compute_of(model, run, whole(model));
    model.deep_layers = 2;
    const auto more = compute_of(model, run, whole(model)).count - before.count;
    EXPECT_GT(more, 5120ULL * 512 * 4);
    EXPECT_LE(more, 2ULL * 5120 * 512 * 4);
}

/// As llama.cpp v0.5.0 reserves it on the second of two GPUs (tests/runtimes/split_test.py): the
/// first norm comes from the device before beside the stream, each four times.
TEST(Compute, OfALaterDeviceHasRoomForWhatTheOneBeforeMade) {
    auto model = model_named("llama-3.1-8b");
    const auto row = 4096ULL * 512 * 4;
    const RunShape run{.context = 4096};
    const Part later{.first = 16, .last = 32, .copies = 4};
    const Part first{.first = 0, .last = 16, .copies = 4};
    EXPECT_EQ(compute_of(model, run, later).count - compute_of(model, run, first).count, 4 * row);
    const Part output{.first = 32, .last = 32, .has_output = true, .copies = 4};
    const auto logits = model.vocabulary.value() * 512 * 4;
    EXPECT_EQ(compute_of(model, run, output).count, 5 * row + 4 * 2048 + logits);
}

/// What llama.cpp v0.5.0 takes per token and cell: a score and two masks, or two masks for each
/// head.
TEST(Compute, HasRoomForWhatAnIndexerScores) {
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

/// Per cell and token: scores of each head, and what moves them twice.
TEST(Compute, HasRoomForABiasByPosition) {
    constexpr std::uint64_t kCells = 32768;
    auto model = model_named("llama-3.1-8b");
    for (auto& layer : model.layers)
        layer.work.has_position_bias = true;
    const auto bytes = compute_of(model, {.context = kCells}, whole(model)).count;
    EXPECT_GT(bytes, kCells * 512 * 32 * 4 * 3);
    EXPECT_LT(bytes, kCells * 512 * 32 * 4 * 4);
}

/// A layer of T5 attends to what its encoder has said, too.
TEST(Compute, HasRoomForAnEncodersTokens) {
    auto model = model_named("llama-3.1-8b");
    const auto before = compute_of(model, {}, whole(model)).count;
    model.encoded = 65536;
    for (auto& layer : model.layers)
        layer.work.crosses = true;
    EXPECT_GT(compute_of(model, {}, whole(model)).count, before + 65536ULL * 4096 * 4);
}

/// BERT large, whose norms stand behind the sums: llama.cpp v0.5.0 reserves 14.51 MiB.
TEST(Compute, OfBertIsWhatTheRuntimeReserves) {
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

TEST(Compute, OfAnUnusedLayerIsNothing) {
    auto model = model_named("llama-3.1-8b");
    const auto before = compute_of(model, {}, whole(model));
    model.layers.push_back({.is_unused = true, .work = model.layers[0].work});
    EXPECT_EQ(compute_of(model, {}, whole(model)), before);
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

}  // namespace
}  // namespace gpuprobe
