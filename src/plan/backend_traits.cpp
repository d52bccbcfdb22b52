// SPDX-License-Identifier: Apache-2.0
#include "plan/backend_traits.h"

#include <algorithm>

#include "knowledge/drivers.h"
#include "plan/architecture.h"
#include "plan/size_math.h"
#include "report/api_table.h"

namespace gpuprobe::inline plan {
namespace {

constexpr BackendTraits kOthers{};
constexpr auto kBackends = std::to_array<BackendTraits>(
    {{.backend = "cuda", .pipeline_copies = 4, .widens_cache = true, .limits_heads = true},
     {.backend = "rocm", .pipeline_copies = 4, .widens_cache = true, .limits_heads = true},
     {.backend = "sycl", .lists_by_units = true},
     {.backend = "vulkan", .pipeline_copies = 4, .reorders = true}});

/// Whether CUDA's kernels support the shape: heads with one of these lengths and equal lengths of
/// keys and values, or one of the pairs of lengths of latent attention.
bool knows_heads(const LayerShape& layer) {
    constexpr std::array<std::uint64_t, 8> kLengths = {40, 64, 72, 80, 96, 112, 128, 256};
    // Query heads per key head. Some kernels exist only for certain ratios.
    const auto ratio = layer.work.heads / std::max<std::uint64_t>(layer.key_heads, 1);
    const auto values = layer.value_length == 0 ? layer.work.latent_rank : layer.value_length;
    switch (layer.key_length) {
        case 192:
            return values == 128 && ratio % 8 == 0 && ratio > 0;
        case 320:
            return values == 256 && ratio % 32 == 0 && ratio > 0;
        case 512:
            return values == 512 && ratio > 1;
        case 576:
            return values == 512 && ratio > 1;
        default:
            return values == layer.key_length &&
                   std::ranges::find(kLengths, layer.key_length) != kLengths.end();
    }
}

/// Whether CUDA's kernels, with default build options, support the cache types.
bool knows_types(const RunShape& run) {
    constexpr auto kKnown = std::to_array<std::string_view>({"f32", "f16", "bf16", "q8_0", "q4_0"});
    const auto is_known = [&](const GgmlType& type) {
        return std::ranges::find(kKnown, type.name) != kKnown.end();
    };
    const bool is_pair =
        run.keys.id == run.values.id || (run.keys.name == "q8_0" && run.values.name == "q4_0");
    return is_pair && is_known(run.keys) && is_known(run.values);
}

}  // namespace

const BackendTraits& backend_traits(std::string_view backend) {
    const auto* found = std::ranges::find(kBackends, backend, &BackendTraits::backend);
    return found == kBackends.end() ? kOthers : *found;
}

Bytes context_memory(const Gpu& gpu, std::string_view backend) {
    const auto* known = knowledge::Contexts::current().find(backend);
    const auto view = gpu.backends.find(std::string{backend});
    // A measurement on this machine is better than the table.
    const auto measured = view != gpu.backends.end() && view->second.measurement
                              ? view->second.measurement->context
                              : std::nullopt;
    const auto context = known ? known->context() : Bytes{};
    return sum(measured.value_or(context), known ? known->program() : Bytes{});
}

std::string_view backend_for(const Gpu& gpu) {
    // First pass: backends known to work. Second pass: backends that have not been tried.
    for (const bool takes_unknown : {false, true})
        for (const auto& api : kApis) {
            const auto found = gpu.backends.find(std::string{api.backend});
            if (found != gpu.backends.end() && found->second.usable.value_or(takes_unknown))
                return api.backend;
        }
    return {};
}

bool uses_flash_attention(FlashAttention wish,
                          const Model& model,
                          const RunShape& run,
                          std::string_view backend) {
    if (wish == FlashAttention::Off || !architecture_named(model.architecture).has_flash_attention)
        return false;
    // Quantized values can only be read by flash attention.
    const bool needs_it = run.values.block > 1;
    if (wish == FlashAttention::On || needs_it || !backend_traits(backend).limits_heads)
        return true;
    return knows_types(run) && std::ranges::all_of(model.layers, [](const LayerShape& layer) {
               return layer.key_heads == 0 || knows_heads(layer);
           });
}

}  // namespace gpuprobe::inline plan
