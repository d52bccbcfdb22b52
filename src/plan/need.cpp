// SPDX-License-Identifier: Apache-2.0
#include "plan/need.h"

#include <algorithm>
#include <string>

#include "knowledge/drivers.h"
#include "plan/compute_graph.h"
#include "plan/layers.h"
#include "plan/size_math.h"
#include "report/api_table.h"

namespace gpuprobe::inline plan {

std::uint64_t tokens_of(const RunShape& run) {
    return std::min(run.batch, product(cells_of(false, {}, run), run.streams));
}

namespace {

/// Rounds up to a multiple of the step in which llama.cpp increases contexts.
std::uint64_t rounded_cells(std::uint64_t tokens) {
    constexpr std::uint64_t kStep = 256;
    return sum(tokens, kStep - 1) / kStep * kStep;
}

/// The cache of an indexer, with one row for each token or for each compressed group of tokens.
Bytes index_of(const LayerShape& layer, const RunShape& run) {
    const auto keys = row_bytes(run.keys, layer.index_length);
    const auto values = row_bytes(run.values, layer.has_index_values ? layer.index_length : 0);
    const auto cells = layer.compression > 0 ? compressed_cells(layer.compression, run)
                                             : rounded_cells(run.context);
    return Bytes{product(sum(keys, values).count, cells)};
}

}  // namespace

std::uint64_t cells_of(bool is_windowed, const Model& model, const RunShape& run) {
    const auto all = rounded_cells(run.context);
    if (!is_windowed || run.keeps_whole_windows)
        return all;
    // As described in the header, a windowed layer keeps the rows of its window plus one batch.
    return std::min(all, rounded_cells(sum(model.window, run.batch)));
}

std::uint64_t compressed_cells(std::uint64_t compression, const RunShape& run) {
    if (compression == 0)
        return 0;
    return rounded_cells(sum(rounded_cells(run.context), compression - 1) / compression);
}

namespace {

/// One row of keys.
Bytes keys_of(const LayerShape& layer, const RunShape& run) {
    return row_bytes(run.keys, product(layer.key_heads, layer.key_length));
}

/// One row of values. Values are stored transposed without flash attention, which requires the same
/// width in all layers.
Bytes values_of(const LayerShape& layer, const Model& model, const RunShape& run) {
    return row_bytes(run.values, !run.flash_attention
                                     ? model.widest_values
                                     : product(layer.key_heads, layer.value_length));
}

}  // namespace

Bytes largest_cache_of(const LayerShape& layer, const Model& model, const RunShape& run) {
    const auto row =
        layer.is_cached ? std::max(keys_of(layer, run), values_of(layer, model, run)) : Bytes{};
    const auto rows = product(row.count, cells_of(layer.is_windowed, model, run));
    return Bytes{product(std::max(rows, layer.state.count), run.streams)};
}

Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run) {
    // A recurrent layer has a state instead of a cache.
    if (!layer.is_cached)
        return Bytes{product(layer.state.count, run.streams)};
    const auto cells =
        sum(cells_of(layer.is_windowed, model, run), compressed_cells(layer.compression, run));
    const auto keys = keys_of(layer, run);
    const auto values = values_of(layer, model, run);
    const auto rows = sum(Bytes{product(sum(keys, values).count, cells)}, index_of(layer, run));
    return Bytes{product(sum(rows, layer.state).count, run.streams)};
}

Bytes cache_of(const Model& model, const RunShape& run) {
    Bytes total;
    for (const auto& layer : model.layers)
        total = sum(total, cache_of(layer, model, run));
    return total;
}

Need need_of(const Model& model, const RunShape& run, bool is_host) {
    // The estimate assumes that one device computes everything.
    auto part = whole(model);
    part.is_host = is_host;
    Need need{.output = model.output,
              .cache = cache_of(model, run),
              .compute = compute_of(model, run, part),
              .embedding = model.embedding};
    for (const auto& layer : model.layers)
        need.layers = sum(need.layers, layer.weights);
    return need;
}

namespace {

constexpr BackendTraits kOthers{};
constexpr auto kBackends = std::to_array<BackendTraits>(
    {{.backend = "cuda", .pipeline_copies = 4, .widens_cache = true, .limits_heads = true},
     {.backend = "rocm", .pipeline_copies = 4, .widens_cache = true, .limits_heads = true},
     {.backend = "sycl", .lists_by_units = true},
     {.backend = "vulkan", .pipeline_copies = 4, .reorders = true}});

/// Whether CUDA's kernels for flash attention support the shape of a layer. Either keys and values
/// have the same length, which must be in the list, or their lengths are one of the pairs for
/// latent attention.
bool knows_heads(const LayerShape& layer) {
    constexpr std::array<std::uint64_t, 8> kLengths = {40, 64, 72, 80, 96, 112, 128, 256};
    // Query heads per key head. Some kernels support only certain ratios of query heads to key
    // heads.
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
    // A measurement on this machine is more reliable than the table of contexts.
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
    // Only flash attention can read quantized values.
    const bool needs_it = run.values.block > 1;
    if (wish == FlashAttention::On || needs_it || !backend_traits(backend).limits_heads)
        return true;
    return knows_types(run) && std::ranges::all_of(model.layers, [](const LayerShape& layer) {
               return layer.key_heads == 0 || knows_heads(layer);
           });
}

namespace {

using Length = std::uint64_t LayerShape::*;

Error refused(const std::string& why) {
    return {ErrorCode::InvalidRequest, "request: kv: " + why};
}

bool is_quantized(const GgmlType& type) {
    return type.block > 1;
}

/// Whether the cache stores only keys, because the values are a view of the keys.
bool has_keys_alone(const Model& model) {
    return std::ranges::any_of(model.layers, [](const LayerShape& layer) {
        return layer.key_heads > 0 && layer.value_length == 0;
    });
}

/// Checks that each head is a whole number of blocks, because flash attention reads the cache head
/// by head.
Status check_heads(const Model& model, const GgmlType& type, Length length, std::string_view what) {
    for (const auto& layer : model.layers)
        if (layer.key_heads > 0 && layer.*length % type.block != 0)
            return refused(std::string{what} + " in " + std::string{type.name} +
                           " have blocks of " + std::to_string(type.block) +
                           ", but the head size is " + std::to_string(layer.*length) +
                           "; f16 works with any head size");
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
        return refused("values in " + std::string{run.values.name} + " need flash attention, but " +
                       model.architecture + " does not support it; use f16");
    if (run.keys.id != run.values.id && has_keys_alone(model))
        return refused(
            "this model takes the values from the keys, so keys and values need the same type: " +
            std::string{run.keys.name} + " or " + std::string{run.values.name});
    // The following checks are about flash attention.
    if (wish == FlashAttention::Off || !has_flash)
        return Done{};
    TRY(check_heads(model, run.keys, &LayerShape::key_length, "keys"));
    return check_heads(model, run.values, &LayerShape::value_length, "values");
}

}  // namespace gpuprobe::inline plan
