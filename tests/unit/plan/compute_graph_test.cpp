// SPDX-License-Identifier: Apache-2.0
#include "plan/compute_graph.h"

#include <gtest/gtest.h>

#include "models.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace compute_graph_test {

using support::model_named;

TEST(GraphMemory, FreesTensorsAfterTheirLastReader) {
    GraphMemory memory;
    const auto first = memory.result(100, {});
    const auto second = memory.result(50, {first});
    (void)memory.result(100, {second});  // replaces the first tensor
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
    const auto fits = memory.result(40, {});   // uses the small block
    const auto other = memory.result(90, {});  // uses the large block
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
TEST_P(Compute, IsTheMemoryThatTheRuntimeReserves) {
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
    support::case_name);

TEST(Compute, OfNothingIsNothing) {
    const auto model = model_named("llama-3.1-8b");
    EXPECT_EQ(compute_of(model, {}, {}), Bytes{});
}

/// In Qwen3-VL, two layers each add an input, which arrives with the embedding. These inputs are
/// freed before the logits, which are left out here. Some of their memory was free anyway.
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

/// The memory that llama.cpp v0.5.0 reserves on the second of two GPUs
/// (tests/runtimes/split_test.py): the first norm, the stream, and the positions of the tokens
/// whose logits are requested come from the previous device, each in four copies.
TEST(Compute, OfALaterDeviceIncludesTheResultOfThePreviousOne) {
    auto model = model_named("llama-3.1-8b");
    const auto row = 4096ULL * 512 * 4;
    const RunShape run{.context = 4096};
    const Part later{.first = 16, .last = 32, .copies = 4};
    const Part first{.first = 0, .last = 16, .copies = 4};
    EXPECT_EQ(compute_of(model, run, later).count - compute_of(model, run, first).count,
              4 * (row + 2048));
    const Part output{.first = 32, .last = 32, .has_output = true, .copies = 4};
    const auto logits = model.vocabulary.value() * 512 * 4;
    EXPECT_EQ(compute_of(model, run, output).count, 5 * row + 4 * 2048 + logits);
}

TEST(Compute, OfAnUnusedLayerIsNothing) {
    auto model = model_named("llama-3.1-8b");
    const auto before = compute_of(model, {}, whole(model));
    model.layers.push_back({.is_unused = true, .work = model.layers[0].work});
    EXPECT_EQ(compute_of(model, {}, whole(model)), before);
}

}  // namespace compute_graph_test
}  // namespace gpuprobe
