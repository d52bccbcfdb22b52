// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "plan/architecture.h"
#include "plan/gguf.h"
#include "plan/model.h"
#include "plan/model_keys.h"

namespace gpuprobe::inline plan {

/// The number behind "blk." in a tensor's name.
std::optional<std::size_t> layer_of(std::string_view tensor);

/// Fills in what each layer computes: from its tensors, and from the keys where the file lists
/// none. Sources: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
void describe_work(const Gguf& gguf, const Keys& keys, Model& model);

/// What a recurrent layer keeps per stream, whatever the context; nothing where none recurs.
/// Source: n_embd_r and n_embd_s in src/llama-hparams.cpp of llama.cpp v0.5.0.
Bytes recurrent_state(const Keys& keys, const Architecture& architecture);

/// Whether the layer, with so many heads of keys, keeps that state in place of a cache. Source:
/// src/models of llama.cpp v0.5.0.
bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads);

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
