// SPDX-License-Identifier: Apache-2.0
#include "plan/compute_graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// Keeps the free blocks by offset, and the end of the used memory. All memory after the end of the
/// used memory is free.
class Blocks {
public:
    explicit Blocks(std::uint64_t alignment) : alignment_{alignment} {}

    [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const {
        return sum(bytes, alignment_ - 1) / alignment_ * alignment_;
    }

    /// Takes the smallest free block that is large enough. If several blocks have this size, takes
    /// the last block, as ggml does.
    std::uint64_t take(std::uint64_t bytes) {
        auto best = free_.end();
        for (auto block = free_.begin(); block != free_.end(); ++block)
            if (block->second >= bytes && (best == free_.end() || block->second <= best->second))
                best = block;
        // If no free block is large enough, extend the used memory.
        if (best == free_.end()) {
            const auto offset = end_;
            end_ = sum(end_, bytes);
            peak_ = std::max(peak_, end_);
            return offset;
        }
        const auto [offset, size] = *best;
        free_.erase(best);
        if (size > bytes)
            free_.emplace(offset + bytes, size - bytes);
        return offset;
    }

    /// Frees a block and merges it with adjacent free blocks.
    void give(std::uint64_t offset, std::uint64_t bytes) {
        auto next = free_.lower_bound(offset);
        if (next != free_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == offset) {
                offset = before->first;
                bytes += before->second;
                free_.erase(before);
            }
        }
        if (next != free_.end() && offset + bytes == next->first) {
            bytes += next->second;
            free_.erase(next);
        }
        // A free block at the end is removed from the list, because the used memory then ends
        // before this block.
        if (offset + bytes == end_)
            end_ = offset;
        else
            free_.emplace(offset, bytes);
    }

    [[nodiscard]] std::uint64_t peak() const { return peak_; }

private:
    std::uint64_t alignment_;
    std::map<std::uint64_t, std::uint64_t> free_ = {};
    std::uint64_t end_ = 0;
    std::uint64_t peak_ = 0;
};

}  // namespace

GraphMemory::Tensor GraphMemory::step(Step step, const std::vector<Tensor>& sources) {
    step.first_source = sources_.size();
    step.sources = sources.size();
    for (const auto source : sources)
        ++readers_[source];
    sources_.insert(sources_.end(), sources.begin(), sources.end());
    steps_.push_back(step);
    readers_.push_back(0);
    return steps_.size() - 1;
}

GraphMemory::Tensor GraphMemory::input(std::uint64_t bytes) {
    inputs_.push_back(step({.bytes = bytes}, {}));
    return inputs_.back();
}

GraphMemory::Tensor GraphMemory::in_place(std::uint64_t bytes, const std::vector<Tensor>& sources) {
    return step({.bytes = bytes, .may_reuse = true}, sources);
}

GraphMemory::Tensor GraphMemory::result(std::uint64_t bytes, const std::vector<Tensor>& sources) {
    return step({.bytes = bytes}, sources);
}

void GraphMemory::read(const std::vector<Tensor>& sources) {
    (void)step({.has_result = false}, sources);
}

Bytes GraphMemory::largest() const {
    Bytes largest;
    for (const auto& step : steps_)
        largest = std::max(largest, Bytes{step.bytes});
    return largest;
}

Bytes GraphMemory::peak(std::uint64_t alignment) const {
    // Larger than any memory, and keeps sums far below 2^64.
    constexpr auto kMaxTensor = 1ULL << 44U;
    if (std::ranges::any_of(steps_, [](const Step& step) { return step.bytes > kMaxTensor; }))
        return Bytes{kTooMany};
    // Replay the steps of the allocator: first allocate all inputs, then all results in order.
    Blocks blocks{alignment};
    std::vector<std::optional<std::uint64_t>> place(steps_.size());
    auto readers = readers_;
    for (const auto input : inputs_)
        place[input] = blocks.take(blocks.rounded(steps_[input].bytes));
    for (Tensor i = 0; i < steps_.size(); ++i) {
        const auto& step = steps_[i];
        const auto* source = sources_.data() + step.first_source;
        // Reuse the memory of a source that only this operation reads.
        for (std::size_t k = 0; step.may_reuse && !place[i] && k < step.sources; ++k)
            if (place[source[k]] && readers[source[k]] == 1 &&
                steps_[source[k]].bytes == step.bytes)
                std::swap(place[i], place[source[k]]);
        if (!place[i] && step.has_result)
            place[i] = blocks.take(blocks.rounded(step.bytes));
        // Free the sources that no later operation reads.
        for (std::size_t k = 0; k < step.sources; ++k) {
            const auto read = source[k];
            if (--readers[read] == 0 && place[read]) {
                blocks.give(*place[read], blocks.rounded(steps_[read].bytes));
                place[read].reset();
            }
        }
    }
    return Bytes{blocks.peak()};
}

namespace {

/// The alignment that CUDA uses, in bytes. Vulkan aligns to 16 to 256 bytes, and the CPU to 32
/// bytes (get_alignment of the buffer types).
constexpr std::uint64_t kAlignment = 128;

}  // namespace

Bytes ComputeGraph::bytes(const Part& part) {
    prepare(part);
    const auto used = used_layers();
    last_ = std::min(part.last, used);
    if (part.first < last_ && !has_both(model_.layers[part.first]))
        read_state(model_.layers[part.first]);
    for (index_ = part.first; index_ < last_; ++index_)
        stream_ = layer(index_, index_ + 1 == used);
    if (extra_)
        memory_.read({*extra_});
    // The previous device computes the norm itself, because a norm without weights needs no data
    // from this device.
    const bool is_behind = part.first >= used;
    if (part.has_output || part.last >= used) {
        const auto taken = architecture_.rows_taken;
        if (!is_behind && taken == RowsTaken::BehindLayers)
            stream_ = last_rows(stream_);
        auto normed = is_behind ? memory_.in_place(floats(width()), {stream_}) : norm(stream_);
        if (part.has_output && taken == RowsTaken::BehindNorm)
            normed = last_rows(normed);
        if (part.has_output && model_.has_logits)
            (void)memory_.result(floats(model_.vocabulary.value_or(0)), {normed});
    }
    memory_.read(kept_);
    return memory_.peak(kAlignment);
}

/// Creates the inputs for the stream and for the caches in this part of the model. Inputs that are
/// copied for a pipeline are kept until the end of the computation (ggml_backend_sched_split_graph
/// marks them as outputs).
void ComputeGraph::prepare(const Part& part) {
    copies_ = part.copies;
    // The CPU also reserves memory for input embeddings, which a caller may pass instead of tokens.
    const auto row = floats(width());
    const auto wide = floats(product(width(), sum(1, model_.deep_layers)));
    const auto ids = product(tokens_, kFloatBytes);
    const auto tokens = part.is_host ? std::optional{input(ids)} : std::nullopt;
    stream_ = input(part.is_host ? wide : row);
    const bool is_later = part.first > 0;
    const auto end = std::min(part.last, used_layers());
    const auto layers = std::span{model_.layers}.first(end).subspan(std::min(part.first, end));
    // The previous device computes the norm of the first layer, because this norm does not need the
    // layer's weights. If the previous device computes this norm, the stream is also an input.
    if (is_later && !layers.empty() && layers.front().work.has_first_norm)
        normed_ = stream_;
    // Layers with full attention and layers with windowed attention have separate inputs. The
    // inputs are created in the order in which the graph reaches the first layer of each kind.
    const auto attends = [](const LayerShape& layer) { return layer.key_heads > 0; };
    const auto first = std::ranges::find_if(layers, attends);
    const auto reads_state = [](const LayerShape& layer) { return tail_of(layer) > 0; };
    if (std::ranges::any_of(layers, reads_state))
        streams_ = input(product(run_.streams, kFloatBytes));
    if (first != layers.end())
        prepare_keys(*first);
    const auto rotates = [&](const LayerShape& layer) {
        return attends(layer) && (layer.work.has_positions || architecture_.scales_queries);
    };
    if (layers.empty() || std::ranges::any_of(layers, rotates) ||
        (part.is_host && model_.has_position_rows))
        positions_ = input(ids);
    const bool is_first_windowed = first != layers.end() && first->is_windowed;
    for (const bool is_windowed : {is_first_windowed, !is_first_windowed}) {
        const auto one = std::ranges::find_if(layers, [&](const LayerShape& layer) {
            return attends(layer) && layer.is_windowed == is_windowed;
        });
        if (one != layers.end())
            prepare_cache(*one);
        if (normed_ && is_windowed == is_first_windowed)
            stream_ = input(row);
    }
    for (const auto& one : layers)
        if (one.work.recurrence == Recurrence::Lightning && decays_ == 0)
            decays_ = input(floats(product(one.work.heads, tokens_)));
    wanted_ = takes_rows(part) ? input(ids) : positions_;
    if (!is_later)
        embed(tokens);
    input_ = stream_;
    if (model_.extra_width > 0)
        prepare_extra(part, tokens);
}

/// Whether this part of the graph extracts the rows of tokens from one of its layers.
bool ComputeGraph::takes_rows(const Part& part) const {
    const auto used = used_layers();
    return part.first < used && part.last >= used &&
           (architecture_.rows_taken != RowsTaken::BehindNorm || part.has_output);
}

/// Adds the operations between the embedding and the first layer.
void ComputeGraph::embed(std::optional<Tensor> tokens) {
    const auto row = floats(width());
    if (tokens)
        stream_ = memory_.result(row, {*tokens});
    else if (model_.has_position_rows)
        stream_ = memory_.in_place(row, {stream_, input(row)});
    if (model_.deep_layers > 0)
        stream_ = memory_.result(floats(product(width(), sum(1, model_.deep_layers))), {stream_});
    if (model_.has_embedding_norm)
        stream_ = norm(stream_);
}

/// The additional embeddings of all layers (Gemma 3n). The first device computes the additional
/// embeddings; all other devices get the parts for their layers as inputs.
void ComputeGraph::prepare_extra(const Part& part, std::optional<Tensor> tokens) {
    if (part.first > 0) {
        const auto one = model_.extra_width / std::max<std::size_t>(model_.layers.size(), 1);
        for (auto i = part.first; i < part.last; ++i)
            (void)input(floats(one));
        return;
    }
    const auto all = floats(model_.extra_width);
    looked_up_ = tokens ? memory_.result(all, {memory_.result(all, {*tokens})}) : input(all);
}

/// Adds the layer's part of the additional embeddings to the stream. The first layer computes the
/// projection of the embedding to the additional embeddings of all layers.
Tensor ComputeGraph::with_extra(Tensor sum) {
    const auto one = model_.extra_width / std::max<std::size_t>(model_.layers.size(), 1);
    const auto gate = memory_.result(floats(one), {sum});
    Sources sources{gate};
    if (looked_up_) {
        const auto all = floats(model_.extra_width);
        const auto projected = memory_.result(all, {memory_.result(all, {input_})});
        extra_ = memory_.result(all, {memory_.in_place(all, {projected, *looked_up_})});
        looked_up_.reset();
    }
    if (extra_)
        sources.push_back(*extra_);
    return memory_.in_place(floats(width()), {sum, memory_.result(floats(width()), sources)});
}

// In a pipeline, several copies of each input exist, and no copy is freed.
Tensor ComputeGraph::input(std::uint64_t bytes) {
    for (std::uint64_t i = 1; i < copies_; ++i)
        (void)memory_.input(bytes);
    const auto tensor = memory_.input(bytes);
    if (copies_ > 1)
        kept_.push_back(tensor);
    return tensor;
}

namespace {

/// The side of the Hadamard matrix that rotates heads of this length before they are stored
/// in a quantized cache; 0 if they aren't rotated.
std::uint64_t rotation_side(const GgmlType& type, std::uint64_t length) {
    constexpr std::uint64_t kLeast = 64;
    return type.block == 1 || length % kLeast != 0 ? 0 : kLeast;
}

}  // namespace

/// Creates the matrix that rotates keys, for all layers of the same kind as this layer. For
/// keys, llama.cpp uses the largest matrix whose side is a power of two and divides the length of a
/// head.
void ComputeGraph::prepare_keys(const LayerShape& one) {
    auto& matrix = matrices_.at(one.is_windowed ? 1 : 0).keys;
    auto side = rotation_side(run_.keys, one.key_length);
    if (side == 0 || model_.attends_batch || matrix)
        return;
    side = std::max(side, one.key_length & (~one.key_length + 1));
    matrix = input(product(side, side, kFloatBytes));
}

/// Creates the inputs, except the stream, for layers of the same kind as this layer: rows of the
/// cache, masks, and the output of an encoder.
void ComputeGraph::prepare_cache(const LayerShape& one) {
    if (!model_.attends_batch) {
        prepare_keys(one);
        if (const auto side = rotation_side(run_.values, one.value_length))
            matrices_.at(one.is_windowed ? 1 : 0).values = input(product(side, side, kFloatBytes));
        const auto values = std::max<std::uint64_t>(model_.widest_values, 1);
        rows_.at(one.is_windowed ? 1 : 0) = {
            input(product(tokens_, kIndexBytes)),
            // Without flash attention, values are stored transposed, so each number has a separate
            // index.
            input(product(run_.flash_attention ? 1 : values, tokens_, kIndexBytes))};
    }
    masks_.at(one.is_windowed ? 1 : 0) = input(product(cells(one), tokens_, mask_number()));
    if (one.work.has_position_bias)
        buckets_ = input(product(cells(one), tokens_, kFloatBytes));
    if (one.work.crosses) {
        encoded_ = input(product(model_.encoded, width(), kFloatBytes));
        encoded_mask_ = input(product(model_.encoded, tokens_, mask_number()));
    }
}

Tensor ComputeGraph::added(Tensor stream, Tensor result, StreamFirst where) {
    const auto first = architecture_.stream_first;
    if (first == where || first == StreamFirst::InBoth)
        std::swap(stream, result);
    return memory_.in_place(floats(width()), {result, stream});
}

// norm → attention or recurrence → add → norm → feed-forward network → add
Tensor ComputeGraph::layer(std::size_t index, bool is_last) {
    const auto row = floats(width());
    const auto& layer = model_.layers[index];
    const auto& work = layer.work;
    // In the last layer, the computation continues only with the tokens whose logits are requested.
    takes_stream_ = is_last && architecture_.rows_taken == RowsTaken::InLastLayer;
    if (work.is_parallel && !work.is_network)
        return joined(layer);
    auto sum = mixed_sum(layer);
    sum = rows(is_last && architecture_.rows_taken == RowsTaken::BehindSum, sum);
    if (work.has_sum_norms)
        sum = norm(sum);
    if (work.crosses)
        sum = memory_.in_place(row, {crossed(layer, norm(sum)), sum});
    if (!work.is_network && (work.inner > 0 || work.experts > 0)) {
        const auto second = work.has_second_norm ? norm(sum) : sum;
        sum = added(sum, feed_forward(layer, second), StreamFirst::InNetwork);
        if (work.has_sum_norms)
            sum = norm(sum);
    }
    if (model_.extra_width > 0)
        sum = with_extra(sum);
    return index < model_.deep_layers ? memory_.in_place(row, {sum, input_}) : sum;
}

/// The normalized input of a layer.
Tensor ComputeGraph::normed_input(const LayerShape& layer) {
    if (normed_)
        return memory_.in_place(floats(width()), {*std::exchange(normed_, std::nullopt)});
    return layer.work.has_first_norm ? norm(stream_) : stream_;
}

/// The sum of the stream and the result of attention or of a recurrence.
Tensor ComputeGraph::mixed_sum(const LayerShape& layer) {
    const auto& work = layer.work;
    const bool is_without = !work.is_network && work.recurrence == Recurrence::None &&
                            work.heads == 0 && layer.key_heads == 0;
    if (is_without)  // Deci
        return stream_rows();
    const bool takes_rows = takes_stream_;
    const auto mix = rows(takes_rows, mixed(layer, normed_input(layer)));
    return added(stream_rows(), mix, StreamFirst::InAttention);
}

/// A parallel layer: attention and network read the same input or the same stream, and their
/// results are added.
Tensor ComputeGraph::joined(const LayerShape& layer) {
    const auto row = floats(width());
    const bool takes_rows = takes_stream_;
    const bool is_late = projects_late(layer);
    const bool adds_stream_last = architecture_.parallel_sum != ParallelSum::StreamSecond;
    const auto normed = normed_input(layer);
    auto mix = mixed(layer, normed);
    if (!is_late)
        mix = rows(takes_rows, mix);
    auto sum = feed_forward(
        layer, layer.work.has_second_norm ? norm(stream_rows()) : rows(takes_rows, normed));
    if (!adds_stream_last)
        sum = memory_.in_place(row, {sum, stream_rows()});
    if (is_late)
        mix = rows(takes_rows, projected(layer, mix, std::nullopt));
    sum = memory_.in_place(row, is_late ? Sources{sum, mix} : Sources{mix, sum});
    return adds_stream_last ? memory_.in_place(row, {sum, stream_rows()}) : sum;
}

// The layer has attention, a recurrence, or both (Falcon-H1).
Tensor ComputeGraph::mixed(const LayerShape& layer, Tensor normed) {
    if (layer.work.is_network)
        return feed_forward(layer, normed);
    // Linear attention (Deci) consists only of a product.
    if (layer.work.recurrence == Recurrence::None && layer.key_heads == 0)
        return memory_.result(floats(width()), {normed});
    if (has_both(layer))
        return both(layer, normed);
    switch (layer.work.recurrence) {
        case Recurrence::None:
            break;
        case Recurrence::Mamba:
            return mamba(layer, normed);
        case Recurrence::Mamba2:
            return mamba2(layer, normed);
        case Recurrence::ShortConvolution:
            return short_convolution(layer, normed);
        case Recurrence::DeltaNet:
            return delta_net(layer, normed);
        case Recurrence::Lightning:
            return lightning(layer, normed);
        case Recurrence::Rwkv:
            return rwkv(layer, normed);
    }
    if (layer.value_length == 0)
        return latent(layer, normed);
    return layer.work.latent_rank > 0 ? expanded(layer, normed) : attention(layer, normed);
}

// A layer with a mixture of experts may also have a shared expert, which is a dense network.
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
    // The activation and the product of gate and up are a single operation, whose result needs
    // memory.
    const auto up = memory_.result(size, {normed});
    if (work.form == ForwardForm::Plain)
        return memory_.result(floats(width()), {up});
    const auto gate = memory_.result(size, {normed});
    return memory_.result(floats(width()), {memory_.result(size, {up, gate})});
}

Tensor ComputeGraph::experts(const LayerWork& work, Tensor normed) {
    const auto row = floats(width());
    const auto inner = floats(product(work.experts_used, work.expert_inner));
    // The router computes the scores, sorts the experts, and extracts the weights of the selected
    // experts.
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
    // The results of the selected experts are weighted and added up.
    const auto down = memory_.result(product(work.experts_used, row), {active, order});
    const auto weighted = memory_.in_place(product(work.experts_used, row), {down, weights});
    read_next_state();
    if (work.experts_used < 2)
        return memory_.result(row, {weighted});
    auto total = memory_.result(row, {weighted, weighted});
    constexpr std::uint64_t kAlike = 4;  // more additions of the same size need no more memory
    for (std::uint64_t i = 2; i < std::min(work.experts_used, kAlike); ++i)
        total = memory_.in_place(row, {total, weighted});
    return total;
}

Part whole(const Model& model) {
    return {.last = model.layers.size(), .has_output = true};
}

Bytes compute_of(const Model& model, const RunShape& run, const Part& part) {
    if (part.first == part.last && !part.has_output)
        return {};
    return ComputeGraph{model, run}.bytes(part);
}

Bytes largest_of(const Model& model, const RunShape& run, const Part& part) {
    if (part.first == part.last && !part.has_output)
        return {};
    auto largest = part.has_output ? model.output : Bytes{};
    for (auto i = part.first; i < part.last; ++i)
        largest = std::max(
            {largest, model.layers[i].largest, largest_cache_of(model.layers[i], model, run)});
    ComputeGraph graph{model, run};
    (void)graph.bytes(part);
    return std::max(largest, graph.largest());
}

}  // namespace gpuprobe::inline plan
