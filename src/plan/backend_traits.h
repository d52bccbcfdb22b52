// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/record.h"
#include "plan/need.h"
#include "report/report.h"

/// Differences between llama.cpp's backends that affect memory.
namespace gpuprobe::inline plan {

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
    /// Reorders a graph before memory is reserved. On several GPUs this took up to one batch of the
    /// stream more. Source: ggml_vk_graph_optimize in ggml-vulkan.cpp.
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

/// The backend that a program would use on `gpu`: the first usable one in the order of the API
/// table, or else the first that has not been tried. Empty if all are known to fail.
std::string_view backend_for(const Gpu& gpu);

/// Whether flash attention is used. `Auto` follows the decision of llama.cpp when it creates a
/// context: on if the device supports it for every layer (src/llama-context.cpp; for CUDA and HIP
/// ggml_cuda_get_best_fattn_kernel in ggml/src/ggml-cuda/fattn.cu at 00a2d609), and on if values
/// are quantized. Grok does not support it.
bool uses_flash_attention(FlashAttention wish,
                          const Model& model,
                          const RunShape& run,
                          std::string_view backend);

}  // namespace gpuprobe::inline plan
