// SPDX-License-Identifier: Apache-2.0
#include "plan/need.h"

#include <algorithm>

#include "plan/compute.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {

std::uint64_t tokens_of(const RunShape& run) {
    return std::min(run.batch, product(cells_of(false, {}, run), run.streams));
}

std::uint64_t cells_of(bool is_windowed, const Model& model, const RunShape& run) {
    constexpr std::uint64_t kStep = 256;
    const auto rounded = [](std::uint64_t tokens) {
        return sum(tokens, kStep - 1) / kStep * kStep;
    };
    const auto all = rounded(run.context);
    if (!is_windowed || run.keeps_whole_windows)
        return all;
    return std::min(all, rounded(sum(model.window, run.batch)));
}

Bytes cache_of(const LayerShape& layer, const Model& model, const RunShape& run) {
    const auto cells = cells_of(layer.is_windowed, model, run);
    const auto keys = row_bytes(run.keys, product(layer.key_heads, layer.key_length));
    const auto values = row_bytes(run.values, layer.is_cached && !run.flash_attention
                                                  ? model.widest_values
                                                  : product(layer.key_heads, layer.value_length));
    const auto per_stream = sum(product(sum(keys, values).count, cells), layer.state.count);
    return Bytes{product(per_stream, run.streams)};
}

Bytes cache_of(const Model& model, const RunShape& run) {
    Bytes total;
    for (const auto& layer : model.layers)
        total = sum(total, cache_of(layer, model, run));
    return total;
}

Need need_of(const Model& model, const RunShape& run, bool is_host) {
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
