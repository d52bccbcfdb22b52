// SPDX-License-Identifier: Apache-2.0
#include "plan/need.h"

#include <algorithm>

#include "plan/compute.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {

std::uint64_t tokens_of(const RunShape& run) {
    return std::min(run.batch, product(cells_of(false, {}, run), run.streams));
}

namespace {

/// Rounded up to llama.cpp's step for contexts.
std::uint64_t rounded_cells(std::uint64_t tokens) {
    constexpr std::uint64_t kStep = 256;
    return sum(tokens, kStep - 1) / kStep * kStep;
}

/// The cache of an indexer: rows for each token, or for each compressed group.
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
    // The window plus one batch, as described in the header.
    return std::min(all, rounded_cells(sum(model.window, run.batch)));
}

std::uint64_t compressed_cells(std::uint64_t compression, const RunShape& run) {
    if (compression == 0)
        return 0;
    return rounded_cells(sum(rounded_cells(run.context), compression - 1) / compression);
}

Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run) {
    // A recurrent layer has a state instead of a cache.
    if (!layer.is_cached)
        return Bytes{product(layer.state.count, run.streams)};
    const auto cells =
        sum(cells_of(layer.is_windowed, model, run), compressed_cells(layer.compression, run));
    const auto keys = row_bytes(run.keys, product(layer.key_heads, layer.key_length));
    const auto values =
        // Values are stored transposed without flash attention, which requires the same width in
        // all layers.
        row_bytes(run.values, !run.flash_attention ? model.widest_values
                                                   : product(layer.key_heads, layer.value_length));
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
    // The estimate is for one device that computes everything.
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

}  // namespace gpuprobe::inline plan
