// SPDX-License-Identifier: Apache-2.0
#include "plan/layer_work.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/parse.h"
#include "plan/architecture.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// More experts at once than any model has: their results are added one by one.
constexpr std::uint64_t kMaxExpertsUsed = 1024;

/// The tensors of one layer by what follows "blk.N.".
using Tensors = std::map<std::string_view, const GgufTensor*>;

constexpr std::string_view kEncoder = "enc.";
constexpr std::string_view kDecoder = "dec.";
constexpr std::string_view kBlock = "blk.";

/// "4.attn_q.weight" of "blk.4.attn_q.weight", and of "dec.blk.4.attn_q.weight" (T5).
std::optional<std::string_view> name_in_block(std::string_view tensor) {
    if (tensor.starts_with(kEncoder) || tensor.starts_with(kDecoder))
        tensor.remove_prefix(kEncoder.size());
    if (!tensor.starts_with(kBlock))
        return std::nullopt;
    return tensor.substr(kBlock.size());
}

/// Of a layer with two halves the decoder's.
std::vector<Tensors> tensors_by_layer(const Gguf& gguf, std::size_t layers) {
    const bool has_decoder = std::ranges::any_of(
        gguf.tensors, [](const GgufTensor& tensor) { return tensor.name.starts_with(kDecoder); });
    std::vector<Tensors> sorted(layers);
    for (const auto& tensor : gguf.tensors) {
        const auto layer = layer_of(tensor.name);
        if (!layer || *layer >= layers || (has_decoder && tensor.name.starts_with(kEncoder)))
            continue;
        const auto name = *name_in_block(tensor.name);
        sorted[*layer].emplace(name.substr(std::min(name.find('.'), name.size() - 1) + 1), &tensor);
    }
    return sorted;
}

/// The length of a tensor's rows; 0 where it is not there.
std::uint64_t width_of(const Tensors& tensors, std::string_view name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : std::min(found->second->width, kMaxWidth);
}

std::uint64_t rows_of(const Tensors& tensors, std::string_view name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : std::min(found->second->rows, kMaxWidth);
}

void describe_attention(const Keys& keys,
                        const Tensors& tensors,
                        std::size_t layer,
                        LayerShape& shape) {
    auto& work = shape.work;
    work.heads = keys.of_layer("attention.head_count", layer, 0);
    work.is_fused = tensors.contains("attn_qkv.weight") && shape.key_heads > 0;
    const auto queries = work.heads * shape.key_length;
    work.has_gate = queries > 0 && rows_of(tensors, "attn_q.weight") == 2 * queries;
    work.latent_rank = keys.width("attention.kv_lora_rank");
    work.query_rank = keys.width("attention.q_lora_rank");
    if (!tensors.empty())
        work.query_rank = width_of(tensors, "attn_q_b.weight");
    work.query_length = keys.width("attention.key_length_mla", keys.width("attention.key_length"));
    work.value_length =
        keys.width("attention.value_length_mla", keys.width("attention.value_length"));
    work.rope_length = keys.width("rope.dimension_count");
}

/// Of the layers that have one. Those that compress have said so already.
void describe_indexer(const Keys& keys,
                      const Tensors& tensors,
                      const Architecture& architecture,
                      LayerShape& shape) {
    const bool has_one = tensors.size() < 2 || std::ranges::any_of(tensors, [](const auto& tensor) {
                             return tensor.first.starts_with("indexer.");
                         });
    if (shape.is_cached && has_one && !keys.has("attention.compress_ratios")) {
        shape.index_length = keys.width("attention.indexer.key_length");
        shape.has_index_values = architecture.has_index_values;
    }
    shape.work.index_heads = keys.width("attention.indexer.head_count");
    shape.work.index_choice = keys.width("attention.indexer.top_k");
}

void describe_forward(const Keys& keys,
                      const Tensors& tensors,
                      std::size_t layer,
                      LayerWork& work) {
    const auto inner = keys.of_layer("feed_forward_length", layer, 0);
    if (tensors.size() < 2) {  // a header without the layer's tensors
        work.inner = inner;
        return;
    }
    work.inner = width_of(tensors, "ffn_down.weight");
    if (!tensors.contains("ffn_gate.weight") && work.inner > 0)
        work.form = rows_of(tensors, "ffn_up.weight") == 2 * work.inner ? ForwardForm::Fused
                                                                        : ForwardForm::Plain;
    work.expert_inner = width_of(tensors, "ffn_down_exps.weight");
    work.shared_inner = width_of(tensors, "ffn_down_shexp.weight");
    if (work.expert_inner == 0)
        return;
    work.inner = 0;
    work.experts = keys.width("expert_count");
    work.experts_used = std::min(keys.width("expert_used_count"), kMaxExpertsUsed);
    work.has_fused_experts = tensors.contains("ffn_gate_up_exps.weight");
}

bool is_delta_net(const Tensors& tensors) {
    return tensors.contains("ssm_ba.weight") || tensors.contains("ssm_beta_alpha.weight") ||
           tensors.contains("ssm_beta.weight") || tensors.contains("ssm_alpha.weight");
}

Recurrence recurrence_of(const Keys& keys,
                         const Tensors& tensors,
                         const Architecture& architecture) {
    if (architecture.has_lightning_attention)
        return Recurrence::Lightning;
    if (keys.width("wkv.head_size") > 0)
        return Recurrence::Rwkv;
    if (keys.width("shortconv.l_cache") > 0)
        return Recurrence::ShortConvolution;
    if (is_delta_net(tensors) || keys.width("kda.head_dim") > 0)
        return Recurrence::DeltaNet;
    return keys.width("ssm.group_count") > 0 ? Recurrence::Mamba2 : Recurrence::Mamba;
}

void describe_recurrence(const Keys& keys,
                         const Tensors& tensors,
                         const Architecture& architecture,
                         LayerShape& shape) {
    if (!shape.is_recurrent)
        return;
    auto& work = shape.work;
    work.recurrence = recurrence_of(keys, tensors, architecture);
    work.inner_size = keys.width("ssm.inner_size");
    work.state_size = keys.width("ssm.state_size");
    work.groups = keys.width("ssm.group_count");
    if (const auto length = keys.width("kda.head_dim")) {
        work.inner_size = product(work.heads, length);
        work.state_size = length;
        work.groups = work.heads;
    }
    if (work.recurrence == Recurrence::Lightning)
        work.inner_size = product(work.heads, keys.width("attention.key_length"));
    work.time_step_rank = keys.width("ssm.time_step_rank");
    const auto kernel = keys.width("ssm.conv_kernel", keys.width("shortconv.l_cache"));
    work.kernel = kernel > 0 ? kernel - 1 : 0;
    if (work.recurrence == Recurrence::Rwkv)
        work.form = ForwardForm::Plain;
}

void describe_norms(const Tensors& tensors, LayerWork& work) {
    if (tensors.size() < 2)
        return;
    const bool has_post = tensors.contains("post_attention_norm.weight");
    work.has_first_norm =
        tensors.contains("attn_norm.weight") || tensors.contains("attn_norm_2.weight");
    work.has_second_norm = tensors.contains("ffn_norm.weight") || tensors.contains("ffn_norm") ||
                           tensors.contains("attn_norm_2.weight") ||
                           (has_post && !tensors.contains("post_ffw_norm.weight"));
    work.has_sum_norms = tensors.contains("attn_output_norm.weight") &&
                         tensors.contains("layer_output_norm.weight") && !work.has_first_norm;
    work.is_parallel = work.has_first_norm && !work.has_second_norm && !has_post && work.inner > 0;
}

}  // namespace

std::optional<std::size_t> layer_of(std::string_view tensor) {
    const auto name = name_in_block(tensor);
    return name ? parse_number<std::size_t>(name->substr(0, name->find('.'))) : std::nullopt;
}

void describe_work(const Gguf& gguf, const Keys& keys, Model& model) {
    const auto tensors = tensors_by_layer(gguf, model.layers.size());
    const auto& architecture = architecture_named(model.architecture);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        auto& shape = model.layers[i];
        describe_attention(keys, tensors[i], i, shape);
        describe_indexer(keys, tensors[i], architecture, shape);
        describe_forward(keys, tensors[i], i, shape.work);
        describe_recurrence(keys, tensors[i], architecture, shape);
        describe_norms(tensors[i], shape.work);
        shape.work.has_positions = architecture.has_positions;
        shape.work.has_position_bias = architecture.has_position_bias;
        shape.work.crosses = tensors[i].contains("cross_attn_q.weight");
        shape.work.weighs_input = architecture.weighs_input;
    }
}

}  // namespace gpuprobe::inline plan
