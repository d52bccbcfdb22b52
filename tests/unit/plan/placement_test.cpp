// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models.h"
#include "plan/plan.h"

namespace gpuprobe {
namespace placement_test {

using support::model_named;

using Counts = std::vector<std::uint64_t>;

/// llama.cpp's output: of 17 pieces, two devices with equal free memory get 9 and 8.
TEST(Placement, SplitsLayersByWeight) {
    auto model = model_named("llama-3.1-8b");
    model.layers.resize(16);
    const Load load{.model = &model};
    EXPECT_EQ(split_layers(load, {{.weight = 1}, {.weight = 1}}, 17).pieces, (Counts{9, 8}));
    EXPECT_EQ(split_layers(load, {{}, {}}, 17).pieces, (Counts{9, 8}));
    EXPECT_EQ(split_layers(load, {{.weight = 3}, {.weight = 1}}, 17).pieces, (Counts{13, 4}));
    EXPECT_EQ(split_layers(load, {{.weight = 1}, {.weight = 0}}, 17).pieces, (Counts{17, 0}));
    EXPECT_EQ(split_layers(load, {{.weight = 0}, {.weight = 1}}, 17).pieces, (Counts{0, 17}));
    EXPECT_EQ(split_layers(load, {{.weight = 1}, {.weight = 1}}, 4).pieces, (Counts{2, 2}));
    EXPECT_EQ(split_layers(load, {{.weight = 1}, {.weight = 1}}, 0).pieces, (Counts{0, 0}));
}

TEST(Placement, PutsTheOutputBehindTheLastLayer) {
    const auto model = model_named("llama-3.1-8b");
    const Load load{.model = &model};
    const auto placed = split_layers(load, {{.weight = 1}, {.weight = 1}}, 33);
    const auto without = placed.used[0].count;
    EXPECT_GT(placed.used[1].count, model.output.count + without / 2);
    EXPECT_LT(without, 17 * (model.layers[0].weights.count + mib(16).count) + mib(200).count);
}

TEST(Placement, CountsEachInputAsOftenAsThePipelineCopiesIt) {
    const auto model = model_named("llama-3.1-8b");
    const auto once = split_layers({.model = &model}, {{}, {}}, 33);
    const auto pipeline = split_layers({.model = &model, .pipeline_copies = 4}, {{}, {}}, 33);
    EXPECT_GT(pipeline.used[0].count, once.used[0].count + 3 * mib(8).count);
    // The second device computes the sum of the first device's last layer, from two rows.
    EXPECT_GE(pipeline.used[1].count, once.used[1].count + 6 * mib(8).count);
}

}  // namespace placement_test
}  // namespace gpuprobe
