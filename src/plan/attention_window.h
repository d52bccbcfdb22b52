// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/model_keys.h"

namespace gpuprobe::inline plan {

/// Which layers see a window of the context alone.
struct WindowPattern {
    std::uint64_t window = 0;            ///< tokens; 0: no layer has a window
    std::vector<bool> is_windowed = {};  ///< by layer
    bool is_guessed = false;  ///< a window, but no word on which layers: none is taken for windowed
};

/// From ARCH.attention.sliding_window and .sliding_window_pattern: a list by layer, or a period n
/// of which the last layer (for some architectures the first) sees all; and where the file is
/// silent the period that llama.cpp has for the architecture. Source: set_swa_pattern in
/// src/llama-hparams.cpp and src/models of llama.cpp, August 2026.
WindowPattern window_pattern(const Keys& keys, std::string_view architecture, std::size_t layers);

}  // namespace gpuprobe::inline plan
