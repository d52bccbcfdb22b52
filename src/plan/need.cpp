// SPDX-License-Identifier: Apache-2.0
#include "plan/need.h"

#include <algorithm>

#include "plan/size_math.h"

namespace gpuprobe {
namespace {

constexpr std::uint64_t kActivationRows = 8;
constexpr std::uint64_t kBytesOfFloat = 4;  ///< logits and activations are f32

}  // namespace

Bytes cache_of(const LayerShape& layer, std::uint64_t window, const RunShape& run) {
    const auto tokens =
        layer.is_windowed ? std::min(run.context, sum(window, run.batch)) : run.context;
    const auto keys = row_bytes(run.keys, product(layer.key_heads, layer.key_length));
    const auto values = row_bytes(run.values, product(layer.key_heads, layer.value_length));
    const auto per_stream = sum(product(sum(keys, values).count, tokens), layer.state.count);
    return Bytes{product(per_stream, run.streams)};
}

Bytes cache_of(const Model& model, const RunShape& run) {
    Bytes total;
    for (const auto& layer : model.layers)
        total = sum(total, cache_of(layer, model.window, run));
    return total;
}

Bytes compute_of(const Model& model, const RunShape& run) {
    const auto logits = product(run.batch, model.vocabulary.value_or(0), kBytesOfFloat);
    const auto activations =
        product(kActivationRows, run.batch, model.embedding_length, kBytesOfFloat);
    return Bytes{std::max(logits, activations)};
}

Need need_of(const Model& model, const RunShape& run) {
    Need need{.output = model.output,
              .cache = cache_of(model, run),
              .compute = compute_of(model, run),
              .embedding = model.embedding};
    for (const auto& layer : model.layers)
        need.layers = sum(need.layers, layer.weights);
    return need;
}

}  // namespace gpuprobe
