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

/// The settings for running a model.
struct RunShape {
    std::uint64_t context = 4096;  ///< number of tokens per stream
    std::uint64_t batch = 512;     ///< number of tokens computed at once, llama.cpp's micro-batch
    std::uint64_t streams = 1;     ///< number of parallel sequences, each with its own context
    GgmlType keys = *ggml_type(1);
    GgmlType values = *ggml_type(1);
    bool flash_attention = true;
    bool keeps_whole_windows = false;  ///< --swa-full: windowed layers store the whole context
    /// Whether flash attention converts a quantized cache to f16 in the compute buffer, as in CUDA
    /// and HIP.
    bool widens_cache = false;
};

/// Number of tokens in one batch, which is at most the number of tokens in all streams.
std::uint64_t tokens_of(const RunShape& run);

/// Rows of the cache per stream. llama.cpp rounds a context up to a multiple of 256. A windowed
/// layer stores the rows of its window plus one batch, also rounded up, but never more than the
/// context. Source: constructor of llama_context, and llama_kv_cache_iswa, in llama.cpp v0.5.0.
std::uint64_t cells_of(bool is_windowed, const Model& model, const RunShape& run);

/// Rows of a cache that contains one row for each `compression` tokens; 0 if `compression` is 0.
std::uint64_t compressed_cells(std::uint64_t compression, const RunShape& run);

/// The size of the cache of one layer is heads · (keys + values) · cells · streams. The state of a
/// recurrent layer does not grow with the context. An indexer adds rows. Without flash attention,
/// the values of each layer take as much memory as the values of the widest layer. Source:
/// llama_kv_cache and llama_memory_recurrent of llama.cpp.
Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run);

/// The size of the larger of the two tensors with a layer's keys and values, or of the layer's
/// state, for all streams. A tensor contains either the keys or the values of one layer. Source: as
/// for cache_of().
Bytes largest_cache_of(const LayerShape& layer, const Model& model, const RunShape& run);

/// The size of the cache of all layers.
Bytes cache_of(const Model& model, const RunShape& run);

/// The memory for a completely offloaded model, without the overhead of drivers.
struct Need {
    Bytes layers = {};     ///< weights of all layers
    Bytes output = {};     ///< weights after the last layer
    Bytes cache = {};      ///< attention cache and recurrent state
    Bytes compute = {};    ///< the compute buffer on each GPU that is used
    Bytes embedding = {};  ///< weights that stay in host memory
    Bytes projector = {};  ///< a multimodal projector, on the first GPU
    bool operator==(const Need&) const = default;
};
RECORD_MEMBERS(Need, layers, output, cache, compute, embedding, projector)
/// The memory that the model needs. If `is_host` is true, the CPU computes the model.
Need need_of(const Model& model, const RunShape& run, bool is_host = false);

// Differences between llama.cpp's backends that affect memory.

enum class FlashAttention { Auto, On, Off };
constexpr std::array<EnumName<FlashAttention>, 3> names_of(FlashAttention) {
    return {
        {{FlashAttention::Auto, "auto"}, {FlashAttention::On, "on"}, {FlashAttention::Off, "off"}}};
}

struct BackendTraits {
    std::string_view backend = {};  ///< name of the backend, as in kApis
    /// Several GPUs form a pipeline with this number of copies of each input. Source:
    /// GGML_SCHED_MAX_COPIES in ggml/src/ggml-backend.cpp.
    std::uint64_t pipeline_copies = 1;
    /// Whether the backend reorders the graph before memory is reserved. On several GPUs, the
    /// reordered graph needs more memory: up to one batch of the residual stream. Source:
    /// ggml_vk_graph_optimize in ggml-vulkan.cpp.
    bool reorders = false;
    /// whether the backend lists the GPUs with the most compute units first (plan.cpp)
    bool lists_by_units = false;
    bool widens_cache = false;  ///< see RunShape::widens_cache
    bool limits_heads = false;  ///< whether flash attention supports only some head lengths
};

/// The row of a backend. A backend that isn't in the table behaves like the CPU.
const BackendTraits& backend_traits(std::string_view backend);

/// GPU memory that a process needs on `gpu` before it allocates its first buffer. The result is the
/// sum of the driver's context and the program's kernels and workspaces. If the context was not
/// measured on this machine, knowledge::Contexts provides its size. Unknown parts count as 0.
Bytes context_memory(const Gpu& gpu, std::string_view backend);

/// The backend that a program would use on `gpu`: the first usable backend in the order of the API
/// table or, if there is none, the first backend that has not been tried. The result is empty if
/// all backends are known to fail.
std::string_view backend_for(const Gpu& gpu);

/// Whether llama.cpp uses flash attention. With `Auto`, llama.cpp decides when it creates a
/// context: it uses flash attention if values are quantized, or if the device supports flash
/// attention for every layer (src/llama-context.cpp; for CUDA and HIP
/// ggml_cuda_get_best_fattn_kernel in ggml/src/ggml-cuda/fattn.cu at 00a2d609). Grok does not
/// support flash attention.
bool uses_flash_attention(FlashAttention wish,
                          const Model& model,
                          const RunShape& run,
                          std::string_view backend);

/// Checks, for any model, whether the cache types are compatible with the flash attention setting.
/// Errors: InvalidRequest.
Status check_cache_types(const RunShape& run, FlashAttention wish);

/// Checks whether llama.cpp accepts these cache types for the model. Errors: InvalidRequest; the
/// message suggests types that llama.cpp accepts. Source: llama_init_from_model in
/// src/llama-context.cpp of llama.cpp v0.5.0.
Status check_cache_types(const Model& model, const RunShape& run, FlashAttention wish);

}  // namespace gpuprobe::inline plan
