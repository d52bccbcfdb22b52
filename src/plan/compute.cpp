// SPDX-License-Identifier: Apache-2.0
#include "plan/compute.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "plan/graph_memory.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

using Tensor = GraphMemory::Tensor;
using Sources = std::vector<Tensor>;

constexpr std::uint64_t kFloat = 4;
constexpr std::uint64_t kHalf = 2;
constexpr std::uint64_t kIndex = 8;  ///< rows of the cache are addressed by 64 bits

/// CUDA's; Vulkan's is 16 to 256, the CPU's 32 (get_alignment of the buffer types).
constexpr std::uint64_t kAlignment = 128;

/// What one attention reads that has no cache.
struct Together {
    Tensor query = 0;
    Tensor key = 0;
    Tensor value = 0;
    Tensor mask = 0;
    std::uint64_t tokens = 0;  ///< of keys and values
    bool has_bias = false;     ///< by position
};

/// The graph of one part. Operations that work in place on what nobody else reads (biases, scales,
/// rotations, norms of one head, activations) take nothing and are left out.
class ComputeGraph {
public:
    ComputeGraph(const Model& model, const RunShape& run)
        : model_{model}, run_{run}, tokens_{tokens_of(run)} {}

    Bytes bytes(const Part& part) {
        prepare(part);
        const auto used = used_layers();
        for (auto i = part.first; i < std::min(part.last, used); ++i)
            stream_ = layer(i, part.has_output && i + 1 == used);
        if (has_extra_)
            memory_.read({extra_});
        if (part.has_output) {
            const auto normed = norm(stream_);
            if (model_.has_logits)
                (void)memory_.result(floats(model_.vocabulary.value_or(0)), {normed});
        }
        memory_.read(kept_);
        return memory_.peak(kAlignment);
    }

private:
    /// Rows of so many numbers, one for each token.
    [[nodiscard]] std::uint64_t floats(std::uint64_t numbers) const {
        return product(numbers, tokens_, kFloat);
    }
    [[nodiscard]] std::uint64_t mask_number() const {
        return run_.flash_attention ? kHalf : kFloat;
    }
    [[nodiscard]] std::uint64_t width() const { return model_.embedding_length; }
    /// Tokens that a layer attends to, beside compressed ones.
    [[nodiscard]] std::uint64_t cells(const LayerShape& layer) const {
        return model_.attends_batch ? tokens_ : cells_of(layer.is_windowed, model_, run_);
    }
    /// Next-token layers are the last.
    [[nodiscard]] std::size_t used_layers() const {
        const auto unused = std::ranges::find(model_.layers, true, &LayerShape::is_unused);
        return static_cast<std::size_t>(unused - model_.layers.begin());
    }

    /// RMS norms work in place, layer norms do not.
    Tensor norm(Tensor tensor) {
        return model_.has_layer_norm ? memory_.result(floats(width()), {tensor})
                                     : memory_.in_place(floats(width()), {tensor});
    }

    void prepare(const Part& part);
    Tensor layer(std::size_t index, bool is_last);
    Tensor mixed(const LayerShape& layer, Tensor normed);
    Tensor attention(const LayerShape& layer, Tensor normed);
    Tensor latent(const LayerShape& layer, Tensor normed);
    Tensor expanded(const LayerShape& layer, Tensor normed);
    /// `read` is what an indexer reads.
    Tensor attended(const LayerShape& layer,
                    Tensor queries,
                    std::uint64_t values,
                    const Sources& read);
    Tensor biased(std::uint64_t size, Tensor scores);
    Tensor attended_at_once(const LayerShape& layer, const Together& all);
    Tensor crossed(const LayerShape& layer, Tensor normed);
    Tensor chosen(const LayerShape& layer, const Sources& read, std::uint64_t cells, Tensor mask);
    Tensor chosen_by_head(const LayerShape& layer, std::uint64_t cells, Tensor mask);
    [[nodiscard]] std::uint64_t widened(const LayerShape& layer, std::uint64_t cells) const;
    Tensor turned(const LayerWork& work, std::uint64_t numbers, Tensor tensor);
    Tensor rotated(const GgmlType& type, std::uint64_t numbers, Tensor tensor);
    Tensor mamba(const LayerShape& layer, Tensor normed);
    Tensor mamba2(const LayerShape& layer, Tensor normed);
    Tensor short_convolution(const LayerShape& layer, Tensor normed);
    Tensor lightning(const LayerShape& layer, Tensor normed);
    Tensor delta_net(const LayerShape& layer, Tensor normed);
    Tensor rwkv(const LayerShape& layer, Tensor normed);
    Tensor feed_forward(const LayerShape& layer, Tensor normed);
    Tensor dense(std::uint64_t inner, const LayerWork& work, Tensor normed);
    Tensor experts(const LayerWork& work, Tensor normed);

    const Model& model_;
    const RunShape& run_;
    std::uint64_t tokens_ = 0;
    GraphMemory memory_ = {};
    std::array<Tensor, 2> masks_ = {};  ///< of layers that see all, and of windowed ones
    Tensor buckets_ = 0;                ///< of distances, for a bias by position
    Tensor encoded_ = 0;                ///< what an encoder has said
    Tensor encoded_mask_ = 0;
    Tensor input_ = 0;   ///< of the first layer, and of deep ones
    Tensor stream_ = 0;  ///< what the next layer adds to
    Tensor extra_ = 0;   ///< embeddings of each layer's own (Gemma 3n)
    bool has_extra_ = false;
    std::optional<Tensor> float_mask_ = {};   ///< of indexers that choose for each head
    std::optional<Tensor> first_value_ = {};  ///< of RWKV
    std::vector<Tensor> kept_ = {};           ///< inputs that are never freed
};

/// Inputs, of the stream and for caches that the part has. What is copied for a pipeline stays
/// until the end (ggml_backend_sched_split_graph flags it as output).
void ComputeGraph::prepare(const Part& part) {
    const auto input = [&](std::uint64_t bytes) {
        for (std::uint64_t i = 1; i < part.copies; ++i)
            (void)memory_.input(bytes);
        const auto tensor = memory_.input(bytes);
        if (part.copies > 1)
            kept_.push_back(tensor);
        return tensor;
    };
    // The CPU has room for those who bring embeddings instead of tokens, too.
    const auto wide = floats(product(width(), sum(1, model_.deep_layers)));
    const auto stream = input(wide);
    (void)input(product(tokens_, kFloat));  // positions
    const auto layers = std::span{model_.layers}.subspan(part.first, part.last - part.first);
    for (const bool is_windowed : {false, true}) {
        const auto one = std::ranges::find_if(layers, [is_windowed](const LayerShape& layer) {
            return layer.key_heads > 0 && layer.is_windowed == is_windowed;
        });
        if (one == layers.end())
            continue;
        if (!model_.attends_batch) {
            const auto values = std::max<std::uint64_t>(model_.widest_values, 1);
            (void)input(product(tokens_, kIndex));
            (void)input(product(run_.flash_attention ? 1 : values, tokens_, kIndex));
        }
        masks_.at(is_windowed ? 1 : 0) = input(product(cells(*one), tokens_, mask_number()));
        if (one->work.has_position_bias)
            buckets_ = input(product(cells(*one), tokens_, kFloat));
        if (one->work.crosses) {
            encoded_ = input(product(model_.encoded, width(), kFloat));
            encoded_mask_ = input(product(model_.encoded, tokens_, mask_number()));
        }
    }
    stream_ = part.is_host ? memory_.result(floats(width()), {}) : stream;
    input_ = stream_;
    if (part.is_host && model_.deep_layers > 0)
        stream_ = input_ = memory_.result(wide, {stream_});
    // The last sum of the device before has no weights, and is made here of its two parts.
    if (part.first > 0)
        stream_ = memory_.in_place(floats(width()), {stream, input(floats(width()))});
    if (part.is_host && model_.has_embedding_norm)
        stream_ = norm(stream_);
    if (model_.extra_width > 0) {
        const auto looked_up = memory_.input(floats(model_.extra_width));
        const auto projected = memory_.result(floats(model_.extra_width), {stream_});
        extra_ =
            memory_.result(floats(model_.extra_width),
                           {memory_.in_place(floats(model_.extra_width), {projected, looked_up})});
        has_extra_ = true;
    }
}

Tensor ComputeGraph::layer(std::size_t index, bool is_last) {
    const auto row = floats(width());
    const auto& layer = model_.layers[index];
    const auto& work = layer.work;
    const auto normed = work.has_first_norm ? norm(stream_) : stream_;
    auto mix = mixed(layer, normed);
    auto before = stream_;
    auto for_forward = normed;
    if (is_last) {  // rows of the tokens whose logits are wanted: in the reserved graph all
        mix = memory_.result(row, {mix});
        before = memory_.result(row, {before});
        if (work.is_parallel)
            for_forward = memory_.result(row, {normed});
    }
    if (work.is_parallel) {
        const auto forward = feed_forward(layer, for_forward);
        return memory_.in_place(row, {memory_.in_place(row, {forward, before}), mix});
    }
    auto sum = memory_.in_place(row, {mix, before});
    if (work.crosses)
        sum = memory_.in_place(row, {crossed(layer, norm(sum)), sum});
    if (!work.is_network && (work.inner > 0 || work.experts > 0)) {
        const auto second = work.has_second_norm ? norm(sum) : sum;
        sum = memory_.in_place(row, {feed_forward(layer, second), sum});
    }
    return index < model_.deep_layers ? memory_.in_place(row, {sum, input_}) : sum;
}

Tensor ComputeGraph::mixed(const LayerShape& layer, Tensor normed) {
    if (layer.work.is_network)
        return feed_forward(layer, normed);
    Tensor recurrent = 0;
    switch (layer.work.recurrence) {
        case Recurrence::None:
            break;
        case Recurrence::Mamba:
            return mamba(layer, normed);
        case Recurrence::Mamba2:
            recurrent = mamba2(layer, normed);
            break;
        case Recurrence::ShortConvolution:
            return short_convolution(layer, normed);
        case Recurrence::DeltaNet:
            return delta_net(layer, normed);
        case Recurrence::Lightning:
            return lightning(layer, normed);
        case Recurrence::Rwkv:
            return rwkv(layer, normed);
    }
    const bool has_both = layer.work.recurrence == Recurrence::Mamba2 && layer.key_heads > 0;
    if (layer.work.recurrence == Recurrence::Mamba2 && !has_both)
        return recurrent;
    const auto attended = layer.value_length == 0      ? latent(layer, normed)
                          : layer.work.latent_rank > 0 ? expanded(layer, normed)
                                                       : attention(layer, normed);
    return has_both ? memory_.in_place(floats(width()), {attended, recurrent}) : attended;
}

/// Keys and values of a quantized cache are turned by a Hadamard matrix, and queries with them.
Tensor ComputeGraph::rotated(const GgmlType& type, std::uint64_t numbers, Tensor tensor) {
    constexpr std::uint64_t kTurned = 64;  // the length of a head has to be a multiple of it
    if (type.block == 1 || numbers % kTurned != 0)
        return tensor;
    return memory_.result(floats(numbers), {tensor});
}

/// By position. The first operation on a view of a product, as heads are, has a place of its own.
Tensor ComputeGraph::turned(const LayerWork& work, std::uint64_t numbers, Tensor tensor) {
    return work.has_positions ? memory_.result(floats(numbers), {tensor}) : tensor;
}

Tensor ComputeGraph::attention(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto queries = product(work.heads, layer.key_length);
    const auto keys = product(layer.key_heads, layer.key_length);
    const auto values = product(layer.key_heads, layer.value_length);
    Tensor query = 0;
    Tensor both = 0;  ///< queries, and their gate
    Tensor value = 0;
    Tensor key = 0;
    if (work.is_fused) {
        const auto all = memory_.result(floats(sum(queries, sum(keys, values))), {normed});
        query = memory_.result(floats(queries), {all});
        key = memory_.result(floats(keys), {all});
        value = memory_.result(floats(values), {all});
    } else {
        both = memory_.result(floats(product(queries, work.has_gate ? 2 : 1)), {normed});
        query = rotated(
            run_.keys, queries,
            work.has_gate ? memory_.result(floats(queries), {both}) : turned(work, queries, both));
        // Where some layers have windows, keys come before values (build_attn in llama-graph.cpp).
        const auto make_value = [&] {
            value = rotated(run_.values, values, memory_.result(floats(values), {normed}));
        };
        if (model_.window == 0)
            make_value();
        key = turned(work, keys, memory_.result(floats(keys), {normed}));
        key = rotated(run_.keys, keys, key);
        if (model_.window > 0)
            make_value();
    }
    const auto out = product(work.heads, layer.value_length);
    Tensor result = 0;
    if (model_.attends_batch) {
        result = attended_at_once(layer, {.query = query,
                                          .key = key,
                                          .value = value,
                                          .mask = masks_.at(layer.is_windowed ? 1 : 0),
                                          .tokens = tokens_,
                                          .has_bias = work.has_position_bias});
    } else {
        memory_.read({key});
        memory_.read({value});
        result = attended(layer, query, out, {normed});
    }
    result = rotated(run_.values, out, result);
    if (work.has_gate)
        result = memory_.in_place(floats(out), {result, memory_.result(floats(out), {both})});
    return memory_.result(floats(width()), {result});
}

/// Source: ggml_cuda_flash_attn_ext_get_alloc_size in ggml/src/ggml-cuda/fattn.cu of llama.cpp at
/// 00a2d609.
std::uint64_t ComputeGraph::widened(const LayerShape& layer, std::uint64_t cells) const {
    if (!run_.widens_cache)
        return 0;
    const auto numbers = [&](const GgmlType& type, std::uint64_t length) {
        return type.block == 1 && type.bytes == kHalf ? 0 : product(layer.key_heads, length);
    };
    return product(
        sum(numbers(run_.keys, layer.key_length), numbers(run_.values, layer.value_length)), cells,
        run_.streams, kHalf);
}

/// The mask of what an indexer chooses: it scores each token that is cached.
Tensor ComputeGraph::chosen(const LayerShape& layer,
                            const Sources& read,
                            std::uint64_t cells,
                            Tensor mask) {
    const auto size = product(cells, tokens_, mask_number());
    const auto query = floats(product(layer.work.index_heads, layer.index_length));
    const auto choice = floats(std::min(layer.work.index_choice, cells));
    const auto turned = memory_.result(query, {memory_.result(query, read)});
    const auto score = memory_.result(product(cells, tokens_, kFloat), {turned, mask});
    const auto order = memory_.result(choice, {memory_.result(choice, {score})});
    // A mask of nothing, and the sum of both: what the score leaves is too small for them.
    return memory_.result(product(2, size), {order, mask, score});
}

/// The same for blocks of tokens, and for each head of the indexer.
Tensor ComputeGraph::chosen_by_head(const LayerShape& layer, std::uint64_t cells, Tensor mask) {
    const auto one = product(cells, tokens_, kFloat);
    const auto all = product(layer.work.index_heads, one);
    const auto turned = memory_.result(all, {memory_.result(all, {})});
    if (!float_mask_)
        float_mask_ = memory_.result(one, {mask});
    return memory_.result(all / 2, {memory_.in_place(all, {turned, *float_mask_})});
}

/// The scores of every head for every token, where there is no flash attention.
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
    // Values are a view of the keys, or lie as flash attention wants them: the product does not.
    if (layer.value_length == 0)
        sources.push_back(memory_.result(product(all, work.latent_rank, kHalf), {}));
    else if (run_.flash_attention)
        sources.push_back(
            memory_.result(product(all, layer.key_heads, layer.value_length, kHalf), {}));
    auto scores = memory_.result(size, {queries});
    if (work.has_position_bias)
        scores = biased(size, scores);
    sources.insert(sources.begin(), memory_.in_place(size, {scores, mask}));
    const auto sums = memory_.result(floats(values), sources);
    return layer.value_length == 0 ? sums : memory_.result(floats(values), {sums});
}

/// By what the distances of tokens say for each head.
Tensor ComputeGraph::biased(std::uint64_t size, Tensor scores) {
    const auto bias = memory_.result(size, {memory_.result(size, {buckets_})});
    return memory_.in_place(size, {scores, bias});
}

/// Attention to keys and values that are there at once, and in no cache.
Tensor ComputeGraph::attended_at_once(const LayerShape& layer, const Together& all) {
    const auto keys = product(layer.key_heads, layer.key_length, all.tokens, kFloat);
    const auto values = product(layer.key_heads, layer.value_length, all.tokens, kFloat);
    const auto out = floats(product(layer.work.heads, layer.value_length));
    if (run_.flash_attention && !all.has_bias)
        return memory_.result(out, {all.query, memory_.result(keys / 2, {all.key}),
                                    memory_.result(values / 2, {all.value}), all.mask});
    const auto turned = memory_.result(values, {all.value});
    const auto size = floats(product(all.tokens, layer.work.heads));
    auto scores = memory_.result(size, {all.query, all.key});
    if (all.has_bias)
        scores = biased(size, scores);
    const auto weights = memory_.in_place(size, {scores, all.mask});
    return memory_.result(out, {memory_.result(out, {weights, turned})});
}

/// Attention to what an encoder has said.
Tensor ComputeGraph::crossed(const LayerShape& layer, Tensor normed) {
    const auto numbers = product(layer.key_heads, layer.key_length, model_.encoded, kFloat);
    const auto query =
        memory_.result(floats(product(layer.work.heads, layer.key_length)), {normed});
    const auto key = memory_.result(numbers, {encoded_});
    const auto value = memory_.result(numbers, {encoded_});
    return memory_.result(floats(width()), {attended_at_once(layer, {.query = query,
                                                                     .key = key,
                                                                     .value = value,
                                                                     .mask = encoded_mask_,
                                                                     .tokens = model_.encoded})});
}

/// Latent attention as it is cached: queries are taken into the space of the latent rows.
Tensor ComputeGraph::latent(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto turned = difference(Bytes{layer.key_length}, Bytes{work.latent_rank}).count;
    const auto low =
        work.query_rank > 0 ? memory_.result(floats(work.query_rank), {normed}) : normed;
    const auto query = memory_.result(floats(product(work.heads, work.query_length)), {low});
    const auto absorbed = memory_.result(floats(product(work.heads, work.latent_rank)), {query});
    const auto part = memory_.result(floats(product(work.heads, turned)), {query});
    const auto queries =
        memory_.result(floats(product(work.heads, layer.key_length)), {absorbed, part});
    const auto both = memory_.result(floats(layer.key_length), {normed});
    const auto compressed = memory_.result(floats(work.latent_rank), {both});
    const auto position = memory_.result(floats(turned), {both});
    memory_.read({memory_.result(floats(layer.key_length), {compressed, position})});
    const auto sums =
        attended(layer, queries, product(work.heads, work.latent_rank), {normed, low});
    const auto out = floats(product(work.heads, work.value_length));
    const auto values = memory_.result(out, {memory_.result(out, {sums})});
    return memory_.result(floats(width()), {values});
}

/// Latent attention whose cache holds every head.
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
    const auto repeated = memory_.result(floats(product(heads, work.rope_length)), {position});
    memory_.read({memory_.result(floats(product(heads, layer.key_length)), {wide, repeated})});
    memory_.read({value});
    const auto sums = attended(layer, query, product(work.heads, layer.value_length), {normed});
    return memory_.result(floats(width()), {sums});
}

Tensor ComputeGraph::mamba(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto both = memory_.result(product(2, inner), {normed});
    const auto tail = product(work.kernel, work.inner_size, kFloat, run_.streams);
    const auto joined = memory_.result(sum(inner, tail), {both});
    const auto convolved = memory_.result(inner, {joined});
    const auto selected =
        memory_.result(floats(sum(work.time_step_rank, product(2, work.state_size))), {convolved});
    const auto steps =
        memory_.result(inner, {memory_.result(floats(work.time_step_rank), {selected})});
    const auto scanned = memory_.result(sum(inner, product(layer.state.count, run_.streams)),
                                        {convolved, steps, selected});
    const auto gate = memory_.result(inner, {both});
    const auto skipped = memory_.in_place(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, scanned});
    return memory_.result(floats(width()), {memory_.result(inner, {gate, summed})});
}

Tensor ComputeGraph::mamba2(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto wide = sum(work.inner_size, product(2, work.groups, work.state_size));
    const auto all =
        memory_.result(floats(sum(work.inner_size, sum(wide, work.time_step_rank))), {normed});
    const auto tail = product(work.kernel, wide, kFloat, run_.streams);
    const auto joined = memory_.result(sum(floats(wide), tail), {all});
    const auto convolved = memory_.result(floats(wide), {joined});
    const auto steps = memory_.result(floats(work.time_step_rank), {all});
    const auto scanned =
        memory_.result(sum(inner, product(layer.state.count, run_.streams)), {convolved, steps});
    const auto gate = memory_.result(inner, {all});
    const auto skipped = memory_.result(inner, {convolved});
    const auto summed = memory_.in_place(inner, {skipped, scanned});
    return memory_.result(floats(width()), {memory_.result(inner, {gate, summed})});
}

Tensor ComputeGraph::short_convolution(const LayerShape& layer, Tensor normed) {
    const auto row = floats(width());
    const auto three = memory_.result(product(3, row), {normed});
    const auto scaled = memory_.result(row, {three});
    const auto tail = product(layer.work.kernel, width(), kFloat, run_.streams);
    const auto joined = memory_.result(sum(row, tail), {scaled});
    const auto convolved = memory_.result(row, {joined});
    return memory_.result(row, {memory_.in_place(row, {convolved, three})});
}

Tensor ComputeGraph::lightning(const LayerShape& layer, Tensor normed) {
    const auto inner = floats(layer.work.inner_size);
    const auto scores = floats(product(layer.work.heads, tokens_));
    const auto all = memory_.result(product(3, inner), {normed});
    const auto before = memory_.result(inner, {memory_.result(inner, {all})});
    const auto value = memory_.result(inner, {all});
    const auto alike = memory_.result(scores, {all});
    const auto weighed = memory_.in_place(scores, {alike, memory_.result(scores, {})});
    const auto within = memory_.result(inner, {value, weighed});
    const auto summed = memory_.in_place(inner, {before, within});
    const auto faded = memory_.result(inner, {memory_.result(inner, {all})});
    memory_.read({memory_.result(layer.state.count, {faded, value})});
    const auto gate = memory_.result(inner, {normed});
    const auto turned = memory_.result(inner, {summed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {turned, gate})});
}

Tensor ComputeGraph::delta_net(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    const auto inner = floats(work.inner_size);
    const auto keys = floats(product(work.groups, work.state_size));
    const auto wide = sum(inner, product(2, keys));
    const auto all = memory_.result(wide, {normed});
    const auto joined = memory_.result(sum(wide, product(work.kernel, wide / tokens_)), {all});
    const auto state = memory_.result(product(layer.state.count, run_.streams), {});
    const auto convolved = memory_.result(wide, {joined});
    const auto query = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto key = memory_.result(inner, {memory_.result(keys, {convolved})});
    const auto summed = memory_.result(sum(inner, product(layer.state.count, run_.streams)),
                                       {query, key, convolved, state});
    const auto scaled = memory_.result(inner, {summed});
    const auto gate = memory_.result(inner, {normed});
    return memory_.result(floats(width()), {memory_.in_place(inner, {scaled, gate})});
}

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
        first_value_ = value;  // later layers mix theirs with it
    memory_.read({*first_value_});
    const auto scaled = memory_.result(row, {key});
    const auto unit = memory_.result(row, {scaled});
    const auto turned = memory_.result(row, {unit, rate});
    const auto summed = memory_.result(sum(row, product(layer.state.count, run_.streams)),
                                       {receptance, decay, key, value, unit, turned});
    const auto gate = memory_.result(row, {mixes});
    return memory_.result(row, {memory_.in_place(row, {memory_.result(row, {summed}), gate})});
}

Tensor ComputeGraph::feed_forward(const LayerShape& layer, Tensor normed) {
    const auto& work = layer.work;
    if (work.experts == 0)
        return dense(work.inner, work, normed);
    const auto chosen = experts(work, normed);
    if (work.shared_inner == 0)
        return chosen;
    return memory_.in_place(floats(width()), {chosen, dense(work.shared_inner, work, normed)});
}

Tensor ComputeGraph::dense(std::uint64_t inner, const LayerWork& work, Tensor normed) {
    const auto size = floats(inner);
    if (work.form == ForwardForm::Fused)
        return memory_.result(floats(width()),
                              {memory_.result(size, {memory_.result(product(2, size), {normed})})});
    const auto up = memory_.result(size, {normed});
    if (work.form == ForwardForm::Plain)
        return memory_.result(floats(width()), {up});
    const auto gate = memory_.result(size, {normed});
    return memory_.result(floats(width()), {memory_.result(size, {up, gate})});
}

Tensor ComputeGraph::experts(const LayerWork& work, Tensor normed) {
    const auto row = floats(width());
    const auto inner = floats(product(work.experts_used, work.expert_inner));
    const auto scores = memory_.result(floats(work.experts), {normed});
    const auto order = memory_.result(floats(work.experts), {scores});
    const auto weights = memory_.result(floats(work.experts_used), {scores, order});
    auto tokens = normed;
    if (work.weighs_input)
        tokens = memory_.result(product(work.experts_used, row), {normed, weights});
    Tensor active = 0;
    if (work.has_fused_experts) {
        active = memory_.result(inner, {memory_.result(product(2, inner), {tokens, order})});
    } else {
        const auto gate = memory_.result(inner, {tokens, order});
        const auto up = memory_.result(inner, {tokens, order});
        active = memory_.result(inner, {gate, up});
    }
    const auto down = memory_.result(product(work.experts_used, row), {active, order});
    const auto weighted = memory_.in_place(product(work.experts_used, row), {down, weights});
    if (work.experts_used < 2)
        return memory_.result(row, {weighted});
    auto total = memory_.result(row, {weighted, weighted});
    constexpr std::uint64_t kAlike = 4;  // more of the same take no more
    for (std::uint64_t i = 2; i < std::min(work.experts_used, kAlike); ++i)
        total = memory_.in_place(row, {total, weighted});
    return total;
}

}  // namespace

Part whole(const Model& model) {
    return {.last = model.layers.size(), .has_output = true};
}

Bytes compute_of(const Model& model, const RunShape& run, const Part& part) {
    if (part.first == part.last && !part.has_output)
        return {};
    return ComputeGraph{model, run}.bytes(part);
}

}  // namespace gpuprobe::inline plan
