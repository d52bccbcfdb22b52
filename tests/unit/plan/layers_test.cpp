// SPDX-License-Identifier: Apache-2.0
#include "plan/layers.h"

#include <gtest/gtest.h>

#include "models.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace layers_test {

using support::made;
using Numbers = std::vector<std::int64_t>;

struct WindowRow {
    const char* name;
    const char* architecture;
    GgufValue pattern;
    std::vector<bool> windowed;
    bool is_guessed = false;
};
class WindowPatterns : public ::testing::TestWithParam<WindowRow> {};

TEST_P(WindowPatterns, IsOfTheRightLayers) {
    auto gguf = made(GetParam().architecture, 6, {{"attention.sliding_window", std::int64_t{512}}});
    const auto* none = std::get_if<std::string>(&GetParam().pattern);
    if (!none)
        gguf.values[std::string{GetParam().architecture} + ".attention.sliding_window_pattern"] =
            GetParam().pattern;
    const auto pattern =
        window_pattern(Keys{gguf, GetParam().architecture}, GetParam().architecture, 6);
    EXPECT_EQ(pattern.window, 512U);
    EXPECT_EQ(pattern.is_windowed, GetParam().windowed);
    EXPECT_EQ(pattern.is_guessed, GetParam().is_guessed);
}

const GgufValue kSilent = std::string{};
INSTANTIATE_TEST_SUITE_P(
    Table,
    WindowPatterns,
    ::testing::Values(
        WindowRow{"Gemma3", "gemma3", kSilent, {true, true, true, true, true, false}},
        WindowRow{"Gemma2", "gemma2", kSilent, {true, false, true, false, true, false}},
        WindowRow{"DenseFirst", "smallthinker", kSilent, {false, true, true, true, false, true}},
        WindowRow{"Cohere2Moe", "cohere2moe", kSilent, {false, true, true, true, false, true}},
        WindowRow{"Laguna", "laguna", std::int64_t{3}, {false, true, true, false, true, true}},
        WindowRow{"Period3", "gemma3", std::int64_t{3}, {true, true, false, true, true, false}},
        WindowRow{"PeriodOfAnUnknown",
                  "mistral9",
                  std::int64_t{2},
                  {true, false, true, false, true, false}},
        WindowRow{"Period0", "gemma3", std::int64_t{0}, {true, true, true, true, true, true}},
        WindowRow{"Period1", "gemma3", std::int64_t{1}, {false, false, false, false, false, false}},
        WindowRow{
            "List", "gemma4", Numbers{1, 0, 1, 1, 0, 1}, {true, false, true, true, false, true}},
        WindowRow{
            "ShortListRepeats", "gemma4", Numbers{1, 0}, {true, false, true, false, true, false}},
        WindowRow{
            "NobodyKnows", "mistral9", kSilent, {false, false, false, false, false, false}, true}),
    support::case_name);

TEST(Window, IsTheRuntimesWhereTheFileIsSilent) {
    const auto silent = [](const char* architecture, std::size_t layers) {
        const auto gguf = made(architecture, 1, {});
        return window_pattern(Keys{gguf, architecture}, architecture, layers);
    };
    EXPECT_EQ(silent("gemma2", 2).window, 4096U);
    EXPECT_EQ(silent("gemma2", 2).is_windowed, (std::vector<bool>{true, false}));
    EXPECT_EQ(silent("exaone4", 64).window, 4096U);
    EXPECT_EQ(silent("llama", 2).window, 0U);
}

/// Of the EXAONE 4 models, only the 32B has windows, although the file of the 1.2B also contains a
/// window.
TEST(Window, OfExaoneBelongsOnlyToTheLargeModel) {
    const auto gguf = made("exaone4", 30, {{"attention.sliding_window", std::int64_t{4096}}});
    const auto small = window_pattern(Keys{gguf, "exaone4"}, "exaone4", 30);
    EXPECT_EQ(small.window, 0U);
    EXPECT_EQ(small.is_windowed, std::vector<bool>(30));
}

/// The model that a file with these tensors in each layer describes.
Model described(Gguf gguf, const std::vector<const char*>& tensors) {
    const auto architecture = gguf.text("general.architecture").value();
    const Keys keys{gguf, architecture};
    Model model{.architecture = architecture};
    model.layers.resize(keys.number("block_count").value());
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        model.layers[i].key_heads = 4;
        model.layers[i].is_windowed = i % 2 == 1;
        for (const auto* name : tensors)
            gguf.tensors.push_back({.name = "blk." + std::to_string(i) + "." + name, .width = 8});
    }
    describe_work(gguf, keys, model);
    return model;
}

std::vector<bool> rotating(const Model& model) {
    std::vector<bool> layers;
    for (const auto& layer : model.layers)
        layers.push_back(layer.work.has_positions);
    return layers;
}

TEST(Work, RotatesInSomeLayersOnly) {
    const std::vector<const char*> plain{"attn_q.weight", "attn_norm.weight"};
    using Layers = std::vector<bool>;
    EXPECT_EQ(rotating(described(made("llama", 4, {}), plain)), (Layers{true, true, true, true}));
    EXPECT_EQ(rotating(described(made("smollm3", 4, {}), plain)),
              (Layers{true, true, true, false}));
    EXPECT_EQ(rotating(described(made("cohere2", 4, {}), plain)),
              (Layers{false, true, false, true}));
    EXPECT_EQ(rotating(described(
                  made("cohere2moe", 4, {{"leading_dense_block_count", std::int64_t{1}}}), plain)),
              (Layers{true, true, false, true}));
    // A norm copies queries and keys, as a rotation does.
    EXPECT_EQ(
        rotating(described(made("smollm3", 4, {}), {"attn_q_norm.weight", "attn_norm.weight"})),
        (Layers{true, true, true, true}));
}

TEST(Work, IsParallelWithoutASecondNormOrByAKey) {
    const auto is_parallel = [](const Gguf& gguf, const std::vector<const char*>& tensors) {
        return described(gguf, tensors).layers.front().work.is_parallel;
    };
    const auto experts = made("cohere2moe", 1, {{"expert_count", std::int64_t{8}}});
    EXPECT_TRUE(is_parallel(experts, {"attn_norm.weight", "ffn_down_exps.weight"}));
    EXPECT_FALSE(is_parallel(
        experts, {"attn_norm.weight", "attn_output_norm.weight", "ffn_down_exps.weight"}));
    EXPECT_TRUE(is_parallel(made("falcon", 1, {}), {"attn_norm.weight", "ffn_down.weight"}));
    const std::vector<const char*> two{"attn_norm.weight", "ffn_norm.weight", "ffn_down.weight"};
    EXPECT_FALSE(is_parallel(made("gptneox", 1, {}), two));
    EXPECT_TRUE(is_parallel(made("gptneox", 1, {{"use_parallel_residual", std::int64_t{1}}}), two));
}

}  // namespace layers_test
}  // namespace gpuprobe
