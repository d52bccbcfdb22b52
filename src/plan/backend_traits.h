// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/record.h"
#include "plan/need.h"
#include "report/report.h"

/// What llama.cpp does differently from backend to backend, as far as memory goes.
namespace gpuprobe::inline plan {

enum class FlashAttention { Auto, On, Off };
constexpr std::array<EnumName<FlashAttention>, 3> names_of(FlashAttention) {
    return {
        {{FlashAttention::Auto, "auto"}, {FlashAttention::On, "on"}, {FlashAttention::Off, "off"}}};
}

struct BackendTraits {
    std::string_view backend = {};  ///< as kApis has it
    /// Several GPUs work like a pipeline, each with so many copies of its inputs.
    /// Source: GGML_SCHED_MAX_COPIES of ggml/src/ggml-backend.cpp.
    std::uint64_t pipeline_copies = 1;
    /// It puts a graph into another order before it is reserved, which on several GPUs took up to
    /// one row of the stream more than without. Source: ggml_vk_graph_optimize of ggml-vulkan.cpp.
    bool reorders = false;
    bool lists_by_units = false;  ///< several GPUs: runtime_order.h
    bool widens_cache = false;    ///< RunShape::widens_cache
    bool limits_heads = false;    ///< flash attention is for some lengths of a head only
};

/// By the backend's word. A backend without a row does what the CPU does.
const BackendTraits& backend_traits(std::string_view backend);

/// What a process takes of `gpu` before its first buffer: the driver's context, as it was measured
/// on this machine or else as knowledge::Contexts know it, with the program's kernels and
/// workspaces. Nothing where neither is known.
Bytes context_memory(const Gpu& gpu, std::string_view backend);

/// The backend that a program would use on `gpu`: the first in the order of the API table that is
/// usable, or that nobody has tried; empty when there is none.
std::string_view backend_for(const Gpu& gpu);

/// Whether flash attention is used. `Auto` is what llama.cpp decides when a context is made: it is
/// on where the device computes it for every layer (src/llama-context.cpp; for CUDA and HIP
/// ggml_cuda_get_best_fattn_kernel in ggml/src/ggml-cuda/fattn.cu at 00a2d609), and wherever values
/// are quantized. Grok has none.
bool uses_flash_attention(FlashAttention wish,
                          const Model& model,
                          const RunShape& run,
                          std::string_view backend);

}  // namespace gpuprobe::inline plan
