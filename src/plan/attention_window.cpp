// SPDX-License-Identifier: Apache-2.0
#include "plan/attention_window.h"

#include <algorithm>
#include <array>

namespace gpuprobe::inline plan {
namespace {

struct Period {
    std::string_view architecture;
    std::uint64_t layers;
    bool is_dense_first;
};
constexpr std::array<Period, 13> kPeriods = {{{"gemma2", 2, false},
                                              {"gemma3", 6, false},
                                              {"gemma3n", 5, false},
                                              {"gemma-embedding", 6, false},
                                              {"cohere2", 4, false},
                                              {"gpt-oss", 2, false},
                                              {"exaone4", 4, false},
                                              {"exaone-moe", 4, false},
                                              {"afmoe", 4, false},
                                              {"olmo2", 4, false},
                                              {"llama4", 4, false},
                                              {"plamo3", 8, false},
                                              {"smallthinker", 4, true}}};

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
    WindowPattern pattern{.window = keys.number("attention.sliding_window").value_or(0),
                          .is_windowed = std::vector<bool>(layers)};
    if (architecture == "llama4" && pattern.window == 0)
        pattern.window = keys.number("attention.chunk_size").value_or(kChunk);
    if (pattern.window == 0)
        return pattern;
    const auto* known = known_period(architecture);
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
