// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "plan/ggml_type.h"
#include "plan/model.h"

/// Memory that a model needs, by purpose. All numbers are estimates; only the runtime that loads
/// the model knows the exact ones.
namespace gpuprobe::inline plan {

constexpr std::uint64_t kMaxContext = 1ULL << 32U;
constexpr std::uint64_t kMaxBatch = 1U << 20U;
constexpr std::uint64_t kMaxStreams = 4096;

/// The way in which a model is run.
struct RunShape {
    std::uint64_t context = 4096;  ///< tokens per stream
    std::uint64_t batch = 512;     ///< tokens computed at once: the micro-batch of llama.cpp
    std::uint64_t streams = 1;     ///< parallel sequences, each with its own context
    GgmlType keys = *ggml_type(1);
    GgmlType values = *ggml_type(1);
    bool flash_attention = true;
    bool keeps_whole_windows = false;  ///< --swa-full: windowed layers keep the whole context
    /// Flash attention of CUDA and HIP converts a quantized cache to f16 in the compute buffer.
    bool widens_cache = false;
};

/// Tokens of one batch: at most as many as all streams hold.
std::uint64_t tokens_of(const RunShape& run);

/// Rows of the cache per stream. llama.cpp rounds a context up to a multiple of 256. A windowed
/// layer keeps its window plus one batch, also rounded up, but at most the context. Source:
/// constructor of llama_context, and llama_kv_cache_iswa, in llama.cpp v0.5.0.
std::uint64_t cells_of(bool is_windowed, const Model& model, const RunShape& run);

/// Rows of a cache that holds one row per `compression` tokens; 0 if `compression` is 0.
std::uint64_t compressed_cells(std::uint64_t compression, const RunShape& run);

/// The cache of one layer: heads · (keys + values) · cells · streams. The state of a recurrent
/// layer does not grow with the context. An indexer adds rows. Without flash attention the values
/// of each layer are as wide as in the widest layer. Source: llama_kv_cache and
/// llama_memory_recurrent of llama.cpp.
Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run);

/// The cache of all layers.
Bytes cache_of(const Model& model, const RunShape& run);

/// Memory for a model that is offloaded completely, without the overhead of drivers.
struct Need {
    Bytes layers = {};     ///< weights of all layers
    Bytes output = {};     ///< weights after the last layer
    Bytes cache = {};      ///< attention cache and recurrent state
    Bytes compute = {};    ///< on each GPU that is used
    Bytes embedding = {};  ///< weights that stay in host memory
    bool operator==(const Need&) const = default;
};
RECORD_MEMBERS(Need, layers, output, cache, compute, embedding)
/// With `is_host`, for a model that the CPU computes.
Need need_of(const Model& model, const RunShape& run, bool is_host = false);

}  // namespace gpuprobe::inline plan
