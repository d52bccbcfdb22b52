// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "plan/architecture.h"
#include "plan/gguf.h"
#include "plan/model.h"
#include "plan/model_keys.h"

namespace gpuprobe::inline plan {

/// The layer number in a tensor's name, after "blk.".
std::optional<std::size_t> layer_of(std::string_view tensor);

/// Sets the computation of each layer from its tensors, or from the keys if the file lists no
/// tensors. Sources: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
void describe_work(const Gguf& gguf, const Keys& keys, Model& model);

/// Size of the state that a recurrent layer keeps per stream, independent of the context; 0 for
/// models without recurrent layers. Source: n_embd_r and n_embd_s in src/llama-hparams.cpp of
/// llama.cpp v0.5.0.
Bytes recurrent_state(const Keys& keys, const Architecture& architecture);

/// Whether the layer has that state instead of a cache. `heads`: its number of key heads. Source:
/// src/models of llama.cpp v0.5.0.
bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads);

/// Which layers see only a window of the context.
struct WindowPattern {
    std::uint64_t window = 0;            ///< in tokens; 0: no layer has a window
    std::vector<bool> is_windowed = {};  ///< by layer
    /// the window's size is known, but not its layers; none is treated as windowed
    bool is_guessed = false;
};

/// Reads ARCH.attention.sliding_window and .sliding_window_pattern. The pattern is a list by layer,
/// or a period n: the last layer of each n (in some architectures the first) sees the whole
/// context. If the file has no pattern, the period that llama.cpp uses for the architecture
/// applies. Source: set_swa_pattern in src/llama-hparams.cpp and src/models of llama.cpp, August
/// 2026.
WindowPattern window_pattern(const Keys& keys, std::string_view architecture, std::size_t layers);

}  // namespace gpuprobe::inline plan
