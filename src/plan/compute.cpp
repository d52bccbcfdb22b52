// SPDX-License-Identifier: Apache-2.0
#include "plan/compute.h"

#include <span>

#include "plan/compute_graph.h"

namespace gpuprobe::inline plan {
namespace {

/// CUDA's; Vulkan's is 16 to 256, the CPU's 32 (get_alignment of the buffer types).
constexpr std::uint64_t kAlignment = 128;

}  // namespace

Bytes ComputeGraph::bytes(const Part& part) {
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
    (void)input(product(tokens_, kFloatBytes));  // positions
    const auto layers = std::span{model_.layers}.subspan(part.first, part.last - part.first);
    for (const bool is_windowed : {false, true}) {
        const auto one = std::ranges::find_if(layers, [is_windowed](const LayerShape& layer) {
            return layer.key_heads > 0 && layer.is_windowed == is_windowed;
        });
        if (one == layers.end())
            continue;
        if (!model_.attends_batch) {
            const auto values = std::max<std::uint64_t>(model_.widest_values, 1);
            (void)input(product(tokens_, kIndexBytes));
            (void)input(product(run_.flash_attention ? 1 : values, tokens_, kIndexBytes));
        }
        masks_.at(is_windowed ? 1 : 0) = input(product(cells(*one), tokens_, mask_number()));
        if (one->work.has_position_bias)
            buckets_ = input(product(cells(*one), tokens_, kFloatBytes));
        if (one->work.crosses) {
            encoded_ = input(product(model_.encoded, width(), kFloatBytes));
            encoded_mask_ = input(product(model_.encoded, tokens_, mask_number()));
        }
    }
    for (const auto& one : layers)
        if (one.work.recurrence == Recurrence::Lightning && decays_ == 0)
            decays_ = input(floats(product(one.work.heads, tokens_)));
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
    if (work.has_sum_norms)
        sum = norm(sum);
    if (work.crosses)
        sum = memory_.in_place(row, {crossed(layer, norm(sum)), sum});
    if (!work.is_network && (work.inner > 0 || work.experts > 0)) {
        const auto second = work.has_second_norm ? norm(sum) : sum;
        sum = memory_.in_place(row, {feed_forward(layer, second), sum});
        if (work.has_sum_norms)
            sum = norm(sum);
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

Part whole(const Model& model) {
    return {.last = model.layers.size(), .has_output = true};
}

Bytes compute_of(const Model& model, const RunShape& run, const Part& part) {
    if (part.first == part.last && !part.has_output)
        return {};
    return ComputeGraph{model, run}.bytes(part);
}

}  // namespace gpuprobe::inline plan
