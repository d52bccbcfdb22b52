// SPDX-License-Identifier: Apache-2.0
#include "plan/compute_graph.h"

namespace gpuprobe::inline plan {

/// Rotates queries, keys or values by a matrix if their cache contains rotated values.
Tensor ComputeGraph::rotated(std::optional<Tensor> matrix, std::uint64_t numbers, Tensor tensor) {
    return matrix ? memory_.result(floats(numbers), {*matrix, tensor}) : tensor;
}

/// Rotates the tensor by position (RoPE). Heads are views of a product, and the first operation on
/// a view needs a new tensor.
Tensor ComputeGraph::turned(const LayerWork& work, std::uint64_t numbers, Tensor tensor) {
    return work.has_positions ? memory_.result(floats(numbers), {tensor, positions_}) : tensor;
}

/// Call this function after an operation that is added to the graph immediately. Later operations
/// are added only when another operation reads their results. In the last layer, an addition to the
/// stream follows; if the stream is the first operand of this addition, the rows of the stream are
/// extracted first. In other layers, a recurrent layer may follow; in this case, the state of the
/// recurrent layer is read first.
void ComputeGraph::settle(const LayerShape& layer) {
    if (adds_to_stream())
        (void)stream_rows();
    if (has_both(layer) && !unprojected_)
        read_state(layer);
    else if (layer.work.experts == 0)
        read_next_state();
}

/// Reads the state of the next layer if that layer is recurrent. Layers that are only dense
/// networks are skipped.
void ComputeGraph::read_next_state() {
    for (auto i = index_ + 1; i < last_; ++i) {
        const auto& next = model_.layers[i];
        if (next.work.is_network && next.work.experts == 0)
            continue;
        if (!has_both(next))
            read_state(next);
        return;
    }
}

/// How many numbers from earlier tokens a convolution needs for each stream.
std::uint64_t ComputeGraph::tail_of(const LayerShape& layer) {
    const auto& work = layer.work;
    switch (work.recurrence) {
        case Recurrence::Mamba:
        case Recurrence::ShortConvolution:
            return product(work.kernel, work.inner_size);
        case Recurrence::Mamba2:
        case Recurrence::DeltaNet:
            return product(work.kernel,
                           sum(work.inner_size, product(2, work.groups, work.state_size)));
        case Recurrence::None:
        case Recurrence::Lightning:
        case Recurrence::Rwkv:
            break;
    }
    return 0;
}

/// Reads the earlier tokens that a convolution needs.
void ComputeGraph::read_state(const LayerShape& layer) {
    if (const auto tail = tail_of(layer))
        state_ = memory_.result(product(tail, kFloatBytes, run_.streams), {streams_});
}

/// Writes keys to the rows of the cache that are given by the inputs.
void ComputeGraph::store(const LayerShape& layer, Tensor key) {
    memory_.read({key, rows_.at(layer.is_windowed ? 1 : 0)[0]});
}

/// Writes values to the cache. Without flash attention, values are stored transposed and with the
/// same width in all layers; a view is copied first.
void ComputeGraph::store_value(const LayerShape& layer, Tensor value, bool is_view) {
    const auto numbers = product(layer.key_heads, layer.value_length);
    if (!run_.flash_attention && is_view)
        value = memory_.result(floats(numbers), {value});
    if (!run_.flash_attention && numbers < model_.widest_values)
        value = memory_.result(floats(model_.widest_values), {value});
    memory_.read({value, rows_.at(layer.is_windowed ? 1 : 0)[1]});
}

// The usual attention: queries, keys and values are computed with three matrices, or with one fused
// matrix.
Tensor ComputeGraph::attention(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto queries = product(work.heads, layer.key_length);
    const auto keys = product(layer.key_heads, layer.key_length);
    const auto values = product(layer.key_heads, layer.value_length);
    const auto& matrices = matrices_.at(layer.is_windowed ? 1 : 0);
    // Queries, keys and values may be views of one product; in this case, the rotation copies
    // queries and keys. If there are three products, the first contains the queries, possibly
    // together with their gate.
    const auto first =
        memory_.result(floats(work.is_fused ? sum(queries, sum(keys, values))
                                            : product(queries, work.has_gate ? 2 : 1)),
                       {normed});
    // Before a matrix rotates a view, the view is copied.
    const auto own = [&](std::optional<Tensor> matrix, std::uint64_t numbers, Tensor tensor) {
        if (matrix && work.is_fused && tensor == first)
            tensor = memory_.result(floats(numbers), {tensor});
        return rotated(matrix, numbers, tensor);
    };
    const bool is_copied = work.has_gate || (!work.has_positions && architecture_.scales_queries);
    const auto query =
        own(matrices.keys, queries,
            is_copied ? memory_.result(floats(queries), {first}) : turned(work, queries, first));
    // If some layers have windows, or if there is no cache, keys come before values (build_attn in
    // llama-graph.cpp).
    const bool is_key_first = model_.window > 0 || model_.attends_batch;
    Tensor value = first;
    const auto make_value = [&] {
        if (!work.is_fused)
            value = memory_.result(floats(values), {normed});
        if (architecture_.norms_values)
            value = memory_.result(floats(values), {value});
        value = own(matrices.values, values, value);
    };
    if (!is_key_first)
        make_value();
    auto key = work.is_fused ? first : memory_.result(floats(keys), {normed});
    key = own(matrices.keys, keys, turned(work, keys, key));
    if (is_key_first)
        make_value();
    Tensor result = 0;
    if (model_.attends_batch) {  // attention reads keys and values directly, without a cache
        result = attended_directly(layer, {.query = query,
                                           .key = key,
                                           .value = value,
                                           .mask = masks_.at(layer.is_windowed ? 1 : 0),
                                           .tokens = tokens_,
                                           .has_bias = work.has_position_bias});
    } else {
        store(layer, key);
        store_value(layer, value, value == first);
        result = attended(layer, query, product(work.heads, layer.value_length), {normed});
    }
    settle(layer);
    const auto gate = work.has_gate ? std::optional{first} : std::nullopt;
    return projects_late(layer) ? result : projected(layer, result, gate);
}

/// The output of attention after its gate (if there is one) and its projection.
Tensor ComputeGraph::projected(const LayerShape& layer, Tensor result, std::optional<Tensor> gate) {
    const auto out = product(layer.work.heads, layer.value_length);
    result = rotated(matrices_.at(layer.is_windowed ? 1 : 0).values, out, result);
    if (gate)
        result = memory_.in_place(floats(out), {result, memory_.result(floats(out), {*gate})});
    return memory_.result(floats(width()), {result});
}

/// Additional memory for a quantized cache, which flash attention converts to f16. Source:
/// ggml_cuda_flash_attn_ext_get_alloc_size in ggml/src/ggml-cuda/fattn.cu of llama.cpp at 00a2d609.
std::uint64_t ComputeGraph::widened(const LayerShape& layer, std::uint64_t cells) const {
    if (!run_.widens_cache)
        return 0;
    const auto numbers = [&](const GgmlType& type, std::uint64_t length) {
        return type.block == 1 && type.bytes == kHalfBytes ? 0 : product(layer.key_heads, length);
    };
    return product(
        sum(numbers(run_.keys, layer.key_length), numbers(run_.values, layer.value_length)), cells,
        run_.streams, kHalfBytes);
}

/// The mask for the tokens that an indexer has selected. The indexer computes a score for each
/// token in the cache.
Tensor ComputeGraph::chosen(const LayerShape& layer,
                            const Sources& read,
                            std::uint64_t cells,
                            Tensor mask) {
    const auto size = product(cells, tokens_, mask_number());
    const auto query = floats(product(layer.work.index_heads, layer.index_length));
    const auto choice = floats(std::min(layer.work.index_choice, cells));
    const auto turned = memory_.result(query, {memory_.result(query, read)});
    const auto score = memory_.result(product(cells, tokens_, kFloatBytes), {turned, mask});
    const auto order = memory_.result(choice, {memory_.result(choice, {score})});
    // The results are an empty mask, and the sum of the empty mask and the original mask. The
    // memory of the scores is too small for the two masks.
    return memory_.result(product(2, size), {order, mask, score});
}

/// The mask for an indexer that selects blocks of tokens, with a separate selection for each of its
/// heads.
Tensor ComputeGraph::chosen_by_head(const LayerShape& layer, std::uint64_t cells, Tensor mask) {
    const auto one = product(cells, tokens_, kFloatBytes);
    const auto all = product(layer.work.index_heads, one);
    const auto turned = memory_.result(all, {memory_.result(all, {})});
    // All layers use the same copy of the mask in f32.
    if (!float_mask_)
        float_mask_ = memory_.result(one, {mask});
    return memory_.result(all / 2, {memory_.in_place(all, {turned, *float_mask_})});
}

/// Attention that reads the cache. Without flash attention, the graph contains the scores of all
/// heads for all tokens.
Tensor ComputeGraph::attended(const LayerShape& layer,
                              Tensor queries,
                              std::uint64_t values,
                              const Sources& read) {
    const auto& work = layer.work;
    const auto compressed = compressed_cells(layer.compression, run_);
    const auto all = sum(cells(layer), compressed);
    auto mask = masks_.at(layer.is_windowed ? 1 : 0);
    if (layer.has_index_values && run_.flash_attention)
        mask = chosen_by_head(layer, all, mask);
    else if (layer.index_length > 0 && !layer.has_index_values)
        mask = chosen(layer, read, compressed > 0 ? compressed : all, mask);
    if (run_.flash_attention && !work.has_position_bias)
        return memory_.result(sum(floats(values), widened(layer, all)), {queries, mask});
    const auto size = floats(product(all, work.heads));
    Sources sources;
    // The matrix product needs a copy of the values if the values are a view of the keys, or if
    // they are stored in the layout for flash attention.
    const auto copy = [&](const GgmlType& type, std::uint64_t numbers) {
        sources.push_back(
            memory_.result(product(all, run_.streams, row_bytes(type, numbers).count), {}));
    };
    if (layer.value_length == 0)
        copy(run_.keys, work.latent_rank);
    else if (run_.flash_attention)
        copy(run_.values, product(layer.key_heads, layer.value_length));
    auto scores = memory_.result(size, {queries});
    if (work.has_position_bias)
        scores = biased(size, scores);
    sources.insert(sources.begin(), memory_.in_place(size, {scores, mask}));
    const auto sums = memory_.result(floats(values), sources);
    return layer.value_length == 0 ? sums : memory_.result(floats(values), {sums});
}

/// Adds a bias to the scores. The position bias depends on the distance between the tokens and on
/// the head.
Tensor ComputeGraph::biased(std::uint64_t size, Tensor scores) {
    const auto bias = memory_.result(size, {memory_.result(size, {buckets_})});
    return memory_.in_place(size, {scores, bias});
}

/// Attention to keys and values of the same batch, without a cache.
Tensor ComputeGraph::attended_directly(const LayerShape& layer, const DirectAttention& all) {
    const auto keys = product(layer.key_heads, layer.key_length, all.tokens, kFloatBytes);
    const auto values = product(layer.key_heads, layer.value_length, all.tokens, kFloatBytes);
    const auto out = floats(product(layer.work.heads, layer.value_length));
    if (run_.flash_attention && !all.has_bias)
        return memory_.result(out, {all.query, memory_.result(keys / 2, {all.key}),
                                    memory_.result(values / 2, {all.value}), all.mask});
    // Without flash attention, the graph contains a transposed copy of the values, and the scores.
    const auto turned = memory_.result(values, {all.value});
    const auto size = floats(product(all.tokens, layer.work.heads));
    auto scores = memory_.result(size, {all.query, all.key});
    if (all.has_bias)
        scores = biased(size, scores);
    const auto weights = memory_.in_place(size, {scores, all.mask});
    return memory_.result(out, {memory_.result(out, {weights, turned})});
}

/// Attention to the output of an encoder.
Tensor ComputeGraph::crossed(const LayerShape& layer, Tensor normed) {
    const auto numbers = product(layer.key_heads, layer.key_length, model_.encoded, kFloatBytes);
    const auto query =
        memory_.result(floats(product(layer.work.heads, layer.key_length)), {normed});
    const auto key = memory_.result(numbers, {encoded_});
    const auto value = memory_.result(numbers, {encoded_});
    return memory_.result(floats(width()), {attended_directly(layer, {.query = query,
                                                                      .key = key,
                                                                      .value = value,
                                                                      .mask = encoded_mask_,
                                                                      .tokens = model_.encoded})});
}

/// Latent attention with a cache of latent rows: queries are projected into the space of these
/// rows.
Tensor ComputeGraph::latent(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto turned = difference(Bytes{layer.key_length}, Bytes{work.latent_rank}).count;
    const auto low =
        work.query_rank > 0 ? memory_.result(floats(work.query_rank), {normed}) : normed;
    const auto query = memory_.result(floats(product(work.heads, work.query_length)), {low});
    // The query consists of a part for the latent row and a part that is rotated by position.
    const auto absorbed = memory_.result(floats(product(work.heads, work.latent_rank)), {query});
    const auto part = memory_.result(floats(product(work.heads, turned)), {query});
    const auto queries =
        memory_.result(floats(product(work.heads, layer.key_length)), {absorbed, part});
    const auto both = memory_.result(floats(layer.key_length), {normed});
    const auto compressed = memory_.result(floats(work.latent_rank), {both});
    const auto position = memory_.result(floats(turned), {both});
    // For each token, one row is written to the cache, which consists of the latent part and the
    // rotated part.
    store(layer, memory_.result(floats(layer.key_length), {compressed, position}));
    const auto sums =
        attended(layer, queries, product(work.heads, work.latent_rank), {normed, low});
    const auto out = floats(product(work.heads, work.value_length));
    const auto values = memory_.result(out, {memory_.result(out, {sums})});
    settle(layer);
    return memory_.result(floats(width()), {values});
}

/// Latent attention with a cache that contains the keys and values of all heads.
Tensor ComputeGraph::expanded(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto heads = layer.key_heads;
    const auto low =
        work.query_rank > 0 ? memory_.result(floats(work.query_rank), {normed}) : normed;
    const auto query = memory_.result(floats(product(work.heads, layer.key_length)), {low});
    const auto both = memory_.result(floats(sum(work.latent_rank, work.rope_length)), {normed});
    const auto compressed = memory_.result(floats(work.latent_rank), {both});
    const auto plain = difference(Bytes{layer.key_length}, Bytes{work.rope_length}).count;
    const auto wide =
        memory_.result(floats(product(heads, sum(plain, layer.value_length))), {compressed});
    const auto value = memory_.result(floats(product(heads, layer.value_length)), {wide});
    const auto position = memory_.result(floats(work.rope_length), {both});
    // All heads use the same rotated part of the key.
    const auto repeated = memory_.result(floats(product(heads, work.rope_length)), {position});
    store(layer, memory_.result(floats(product(heads, layer.key_length)), {wide, repeated}));
    store_value(layer, value, false);
    const auto sums = attended(layer, query, product(work.heads, layer.value_length), {normed});
    settle(layer);
    return memory_.result(floats(width()), {sums});
}

// Recurrent layers. Each function below follows the operations of one graph in src/models of
// llama.cpp; the files in that folder explain the mathematics. A convolution also reads input from
// before the batch; the variable `tail` is this earlier input, and `joined` is the earlier input
// together with the batch.

/// The result of a scan consists of the output and the new state, which does not contain the tokens
/// for the convolution.
Tensor ComputeGraph::scanned(const LayerShape& layer, Sources sources) {
    const auto& work = layer.work;
    sources.push_back(streams_);
    return memory_.result(sum(floats(work.inner_size),
                              product(work.state_size, work.inner_size, kFloatBytes, run_.streams)),
                          sources);
}

/// Attention that is computed in parallel with Mamba-2. Attention and Mamba-2 normalize the stream
/// separately.
Tensor ComputeGraph::both(const LayerShape& layer, Tensor normed) {
    unprojected_ = attention(layer, normed);
    const auto recurrent = mamba2(layer, norm(stream_));
    return memory_.in_place(floats(width()),
                            {*std::exchange(unprojected_, std::nullopt), recurrent});
}

// Mamba consists of a projection, a convolution, the selection of the step, a scan, and a gate.
Tensor ComputeGraph::mamba(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto both = memory_.result(product(2, inner), {normed});
    const auto tail = product(work.kernel, work.inner_size, kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(inner, tail), with_state(both));
    const auto convolved = memory_.result(inner, {joined});
    const auto selected =
        memory_.result(floats(sum(work.time_step_rank, product(2, work.state_size))), {convolved});
    const auto steps =
        memory_.result(inner, {memory_.result(floats(work.time_step_rank), {selected})});
    const auto result = scanned(layer, {convolved, steps, selected});
    settle(layer);
    const auto gate = memory_.result(inner, {both});
    const auto skipped = memory_.in_place(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, result});
    return memory_.result(floats(width()), {memory_.result(inner, {gate, summed})});
}

// Mamba-2: one projection computes all inputs, including the gate and the steps.
Tensor ComputeGraph::mamba2(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto wide = sum(work.inner_size, product(2, work.groups, work.state_size));
    const auto all =
        memory_.result(floats(sum(work.inner_size, sum(wide, work.time_step_rank))), {normed});
    const auto tail = product(work.kernel, wide, kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(floats(wide), tail), with_state(all));
    const auto convolved = memory_.result(floats(wide), {joined});
    const auto steps = memory_.result(floats(work.time_step_rank), {all});
    const auto result = scanned(layer, {convolved, steps});
    settle(layer);
    if (unprojected_)
        unprojected_ = projected(layer, *unprojected_, std::nullopt);
    const auto gate = memory_.result(inner, {all});
    const auto skipped = memory_.result(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, result});
    // The group norm copies the gated result.
    const auto grouped = memory_.result(inner, {memory_.result(inner, {gate, summed})});
    return memory_.result(floats(width()), {grouped});
}

// LFM2 is a gated convolution over a few tokens.
Tensor ComputeGraph::short_convolution(const LayerShape& layer, Tensor normed) {
    const auto row = floats(width());
    const auto three = memory_.result(product(3, row), {normed});
    const auto scaled = memory_.result(row, {three});
    const auto tail = product(layer.work.kernel, width(), kFloatBytes, run_.streams);
    const auto joined = memory_.result(sum(row, tail), with_state(scaled));
    settle(layer);
    const auto convolved = memory_.result(row, {joined});
    return memory_.result(row, {memory_.in_place(row, {convolved, three})});
}

// MiniMax-01: linear attention. `before` is what the state contributes, and `within` is the
// attention inside the batch, weighted by distance.
Tensor ComputeGraph::lightning(const LayerShape& layer, Tensor normed) {
    const auto inner = floats(layer.work.inner_size);
    const auto scores = floats(product(layer.work.heads, tokens_));
    const auto all = memory_.result(product(3, inner), {normed});
    const auto before = memory_.result(inner, {memory_.result(inner, {all})});
    const auto value = memory_.result(inner, {all});
    const auto alike = memory_.result(scores, {all});
    const auto weighed = memory_.in_place(scores, {alike, memory_.result(scores, {decays_})});
    const auto within = memory_.result(inner, {value, weighed});
    const auto summed = memory_.in_place(inner, {before, within});
    const auto faded = memory_.result(inner, {memory_.result(inner, {all})});
    // The new state is written to the cache.
    memory_.read({memory_.result(layer.state.count, {faded, value})});
    const auto gate = memory_.result(inner, {normed});
    const auto turned = memory_.result(inner, {summed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {turned, gate})});
}

// A gated delta net consists of a convolution, queries and keys for each head, and one fused
// operation that returns the output and the new state.
Tensor ComputeGraph::delta_net(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto keys = floats(product(work.groups, work.state_size));
    const auto wide = sum(inner, product(2, keys));
    const auto all = memory_.result(wide, {normed});
    const auto joined =
        memory_.result(sum(wide, product(work.kernel, wide / tokens_)), with_state(all));
    const auto state = memory_.result(product(layer.state.count, run_.streams), {});
    const auto convolved = memory_.result(wide, {joined});
    const auto query = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto key = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto summed = memory_.result(sum(inner, product(layer.state.count, run_.streams)),
                                       {query, key, convolved, state});
    settle(layer);
    const auto scaled = memory_.result(inner, {summed});
    const auto gate = memory_.result(inner, {normed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {scaled, gate})});
}

// RWKV mixes each token with the previous token in six ways. All other results are computed from
// these six mixtures.
Tensor ComputeGraph::rwkv(const LayerShape& layer, Tensor normed) {
    constexpr std::uint64_t kMixes = 6;
    const auto row = floats(width());
    const auto shifted = memory_.result(row, {normed});
    const auto delta = memory_.in_place(row, {shifted, normed});
    const auto many = product(kMixes, row);
    const auto mixes = memory_.in_place(many, {memory_.result(many, {delta}), normed});
    const auto receptance = memory_.result(row, {mixes});
    const auto decay = memory_.result(row, {mixes});
    const auto key = memory_.result(row, {mixes});
    const auto rate = memory_.result(row, {mixes});
    const auto value = memory_.result(row, {mixes});
    if (!first_value_)
        first_value_ = value;  // later layers mix their values with the values of the first
    memory_.read({*first_value_});
    const auto scaled = memory_.result(row, {key});
    const auto unit = memory_.result(row, {scaled});
    const auto turned = memory_.result(row, {unit, rate});
    const auto summed = memory_.result(sum(row, product(layer.state.count, run_.streams)),
                                       {receptance, decay, key, value, unit, turned});
    const auto gate = memory_.result(row, {mixes});
    return memory_.result(row, {memory_.in_place(row, {memory_.result(row, {summed}), gate})});
}

}  // namespace gpuprobe::inline plan
