// SPDX-License-Identifier: Apache-2.0
#include "plan/cache_types.h"

#include <algorithm>
#include <string>

#include "plan/architecture.h"

namespace gpuprobe::inline plan {
namespace {

using Length = std::uint64_t LayerShape::*;

Error refused(const std::string& why) {
    return {ErrorCode::InvalidRequest, "request: kv: " + why};
}

bool is_quantized(const GgmlType& type) {
    return type.block > 1;
}

/// Whether the cache holds keys only, of which values are a view.
bool has_keys_alone(const Model& model) {
    return std::ranges::any_of(model.layers, [](const LayerShape& layer) {
        return layer.key_heads > 0 && layer.value_length == 0;
    });
}

/// Checks that each head is a whole number of blocks: flash attention reads the cache head by head.
Status check_heads(const Model& model, const GgmlType& type, Length length, std::string_view what) {
    for (const auto& layer : model.layers)
        if (layer.key_heads > 0 && layer.*length % type.block != 0)
            return refused(std::string{what} + " in " + std::string{type.name} +
                           " come in blocks of " + std::to_string(type.block) +
                           ", and a head has " + std::to_string(layer.*length) +
                           " numbers: f16 is for any head");
    return Done{};
}

}  // namespace

Status check_cache_types(const RunShape& run, FlashAttention wish) {
    if (wish == FlashAttention::Off && is_quantized(run.values))
        return refused("values in " + std::string{run.values.name} + " need flash attention");
    return Done{};
}

Status check_cache_types(const Model& model, const RunShape& run, FlashAttention wish) {
    const bool has_flash = architecture_named(model.architecture).has_flash_attention;
    TRY(check_cache_types(run, wish));
    // Only flash attention can read quantized values.
    if (is_quantized(run.values) && !has_flash)
        return refused("values in " + std::string{run.values.name} +
                       " need flash attention, which " + model.architecture +
                       " has not: f16 needs none");
    if (run.keys.id != run.values.id && has_keys_alone(model))
        return refused("this model reads values from its keys: one type for both, " +
                       std::string{run.keys.name} + " or " + std::string{run.values.name});
    // The checks below are about flash attention.
    if (wish == FlashAttention::Off || !has_flash)
        return Done{};
    TRY(check_heads(model, run.keys, &LayerShape::key_length, "keys"));
    return check_heads(model, run.values, &LayerShape::value_length, "values");
}

}  // namespace gpuprobe::inline plan
