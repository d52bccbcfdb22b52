// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "plan/ggml_type.h"
#include "plan/model.h"

/// What a model takes, part by part. All of it is an estimate; the runtime that loads the model
/// knows.
namespace gpuprobe::inline plan {

constexpr std::uint64_t kMaxContext = 1ULL << 32U;
constexpr std::uint64_t kMaxBatch = 1U << 20U;
constexpr std::uint64_t kMaxStreams = 4096;

/// How the model is to be run.
struct RunShape {
    std::uint64_t context = 4096;  ///< tokens of one stream
    std::uint64_t batch = 512;     ///< tokens computed at once: llama.cpp's micro-batch
    std::uint64_t streams = 1;     ///< sequences, each with its own context
    GgmlType keys = *ggml_type(1);
    GgmlType values = *ggml_type(1);
    bool flash_attention = true;
    bool keeps_whole_windows = false;  ///< --swa-full: windowed layers keep the whole context
    /// CUDA's and HIP's flash attention turns a quantized cache into f16 in the compute buffer.
    bool widens_cache = false;
};

/// Tokens of one batch: never more than all streams hold.
std::uint64_t tokens_of(const RunShape& run);

/// Rows of the cache for one stream. llama.cpp rounds a context up to 256; a windowed layer keeps
/// its window and one batch, rounded up likewise, at most the context.
/// Source: llama_context's constructor and llama_kv_cache_iswa of llama.cpp v0.5.0.
std::uint64_t cells_of(bool is_windowed, const Model& model, const RunShape& run);

/// Rows of a cache that holds one for so many tokens; 0 for 0.
std::uint64_t compressed_cells(std::uint64_t compression, const RunShape& run);

/// The cache of one layer: heads · (keys + values) · cells · streams. A recurrent layer's state
/// does not grow. An indexer has rows of its own. Without flash attention values are as wide in
/// each layer as in the widest. Source: llama_kv_cache and llama_memory_recurrent of llama.cpp.
Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run);

/// Of all layers.
Bytes cache_of(const Model& model, const RunShape& run);

/// What goes to GPUs when everything does, without overhead of their drivers.
struct Need {
    Bytes layers = {};     ///< weights
    Bytes output = {};     ///< weights
    Bytes cache = {};      ///< of attention and recurrent state
    Bytes compute = {};    ///< on each GPU that is used
    Bytes embedding = {};  ///< weights that stay in the host's memory
    bool operator==(const Need&) const = default;
};
RECORD_MEMBERS(Need, layers, output, cache, compute, embedding)
/// With `is_host` the computation is the CPU's.
Need need_of(const Model& model, const RunShape& run, bool is_host = false);

}  // namespace gpuprobe::inline plan
