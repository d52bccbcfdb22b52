// SPDX-License-Identifier: Apache-2.0
#include "plan/attention_window.h"

#include <algorithm>
#include <array>

namespace gpuprobe::inline plan {
namespace {

struct Period {
    std::string_view architecture = {};
    std::uint64_t layers = 0;  ///< of which one sees all; 0: none does
    bool is_dense_first = false;
    std::uint64_t window = 0;      ///< where the file is silent
    std::uint64_t only_model = 0;  ///< of so many layers; others have no windows
};
constexpr auto kPeriods = std::to_array<Period>(
    {{.architecture = "gemma2", .layers = 2, .window = 4096},
     {.architecture = "gemma3", .layers = 6},
     {.architecture = "gemma3n", .layers = 5},
     {.architecture = "gemma-embedding", .layers = 6},
     {.architecture = "cohere2", .layers = 4},
     {.architecture = "cohere2moe", .layers = 4, .is_dense_first = true},
     {.architecture = "deepseek4", .layers = 0},
     {.architecture = "gpt-oss", .layers = 2},
     {.architecture = "exaone4", .layers = 4, .window = 4096, .only_model = 64},
     {.architecture = "exaone-moe", .layers = 4},
     {.architecture = "afmoe", .layers = 4},
     {.architecture = "laguna", .layers = 4, .is_dense_first = true},
     {.architecture = "olmo2", .layers = 4},
     {.architecture = "llama4", .layers = 4},
     {.architecture = "plamo3", .layers = 8},
     {.architecture = "smallthinker", .layers = 4, .is_dense_first = true}});

/// Tokens that Llama 4 sees at once, where the file is silent. Source: src/models/llama4.cpp.
constexpr std::uint64_t kChunk = 8192;

const Period* known_period(std::string_view architecture) {
    const auto* found = std::ranges::find(kPeriods, architecture, &Period::architecture);
    return found == kPeriods.end() ? nullptr : found;
}

std::vector<bool> by_period(std::uint64_t period, bool is_dense_first, std::size_t layers) {
    std::vector<bool> windowed(layers);
    for (std::size_t i = 0; i < layers; ++i)
        windowed[i] = period == 0 || (is_dense_first ? i % period != 0 : i % period < period - 1);
    return windowed;
}

}  // namespace

WindowPattern window_pattern(const Keys& keys, std::string_view architecture, std::size_t layers) {
    constexpr std::string_view kPattern = "attention.sliding_window_pattern";
    const auto* known = known_period(architecture);
    WindowPattern pattern{.is_windowed = std::vector<bool>(layers)};
    if (known && known->only_model > 0 && known->only_model != layers)
        return pattern;
    pattern.window =
        keys.number("attention.sliding_window").value_or(known ? known->window : std::uint64_t{0});
    if (architecture == "llama4" && pattern.window == 0)
        pattern.window = keys.number("attention.chunk_size").value_or(kChunk);
    if (pattern.window == 0)
        return pattern;
    const auto* list = keys.list(kPattern);
    if (list && !list->empty()) {
        for (std::size_t i = 0; i < layers; ++i)
            pattern.is_windowed[i] = (*list)[i % list->size()] != 0;
    } else if (const auto period = keys.number(kPattern)) {
        pattern.is_windowed = by_period(*period, known && known->is_dense_first, layers);
    } else if (known) {
        pattern.is_windowed = by_period(known->layers, known->is_dense_first, layers);
    } else {
        pattern.is_guessed = true;
    }
    return pattern;
}

}  // namespace gpuprobe::inline plan
