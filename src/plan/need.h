// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "plan/gguf.h"
#include "plan/model.h"
#include "report/report.h"

/// Memory that a model needs, by purpose. All numbers are estimates; only the runtime that loads
/// the model knows the exact sizes.

namespace gpuprobe::inline plan {

constexpr std::uint64_t kMaxContext = 1ULL << 32U;
constexpr std::uint64_t kMaxBatch = 1U << 20U;
constexpr std::uint64_t kMaxStreams = 4096;

/// The settings with which a model is run.
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

/// Number of tokens of one batch; at most the number of tokens of all streams.
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

/// The size of the cache of all layers.
Bytes cache_of(const Model& model, const RunShape& run);

/// The memory for a model that is offloaded completely, without the overhead of drivers.
struct Need {
    Bytes layers = {};     ///< weights of all layers
    Bytes output = {};     ///< weights after the last layer
    Bytes cache = {};      ///< attention cache and recurrent state
    Bytes compute = {};    ///< on each GPU that is used
    Bytes embedding = {};  ///< weights that stay in host memory
    Bytes projector = {};  ///< a multimodal projector, on the first GPU
    bool operator==(const Need&) const = default;
};
RECORD_MEMBERS(Need, layers, output, cache, compute, embedding, projector)
/// The memory that the model needs. With `is_host`, the CPU computes the model.
Need need_of(const Model& model, const RunShape& run, bool is_host = false);

// Differences between llama.cpp's backends that affect memory.

enum class FlashAttention { Auto, On, Off };
constexpr std::array<EnumName<FlashAttention>, 3> names_of(FlashAttention) {
    return {
        {{FlashAttention::Auto, "auto"}, {FlashAttention::On, "on"}, {FlashAttention::Off, "off"}}};
}

struct BackendTraits {
    std::string_view backend = {};  ///< as in kApis
    /// Several GPUs form a pipeline, with this many copies of each input. Source:
    /// GGML_SCHED_MAX_COPIES in ggml/src/ggml-backend.cpp.
    std::uint64_t pipeline_copies = 1;
    /// The backend reorders the graph before memory is reserved. On several GPUs, this needed up to
    /// one batch of the stream more. Source: ggml_vk_graph_optimize in ggml-vulkan.cpp.
    bool reorders = false;
    bool lists_by_units = false;  ///< lists GPUs by compute units (plan.cpp)
    bool widens_cache = false;    ///< see RunShape::widens_cache
    bool limits_heads = false;    ///< flash attention supports only some head lengths
};

/// The row of a backend. A backend without a row behaves like the CPU.
const BackendTraits& backend_traits(std::string_view backend);

/// GPU memory that a process needs on `gpu` before its first buffer. It is the sum of the driver's
/// context, measured on this machine or else from knowledge::Contexts, and the program's kernels
/// and workspaces. Unknown parts count as 0.
Bytes context_memory(const Gpu& gpu, std::string_view backend);

/// The backend that a program would use on `gpu`: the first usable backend in the order of the API
/// table, or else the first backend that has not been tried. Empty if all backends are known to
/// fail.
std::string_view backend_for(const Gpu& gpu);

/// Whether flash attention is used. `Auto` follows the decision of llama.cpp when it creates a
/// context: it is on if the device supports it for every layer (src/llama-context.cpp; for CUDA and
/// HIP ggml_cuda_get_best_fattn_kernel in ggml/src/ggml-cuda/fattn.cu at 00a2d609), and if values
/// are quantized. Grok does not support flash attention.
bool uses_flash_attention(FlashAttention wish,
                          const Model& model,
                          const RunShape& run,
                          std::string_view backend);

/// Checks whether the cache types are compatible with the setting for flash attention, regardless
/// of the model. Errors: InvalidRequest.
Status check_cache_types(const RunShape& run, FlashAttention wish);

/// Checks whether llama.cpp accepts these cache types for the model. Errors: InvalidRequest; the
/// text suggests types that llama.cpp accepts. Source: llama_init_from_model in
/// src/llama-context.cpp of llama.cpp v0.5.0.
Status check_cache_types(const Model& model, const RunShape& run, FlashAttention wish);

}  // namespace gpuprobe::inline plan
