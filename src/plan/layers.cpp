// SPDX-License-Identifier: Apache-2.0
#include "plan/layers.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/text.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// A model that computes embeddings of texts.
constexpr Architecture encoder(std::string_view name) {
    return {.name = name, .has_cache = false, .is_encoder = true, .ties_output = false};
}
constexpr Architecture encoder_without_positions(std::string_view name) {
    auto row = encoder(name);
    row.has_positions = false;
    return row;
}
/// A diffusion model, which generates all tokens of a text at once.
constexpr Architecture diffusion(std::string_view name) {
    return {.name = name, .has_cache = false};
}

/// Sources: src/models, llama_model::create_memory (src/llama-model.cpp) and src/llama-context.cpp
/// (for Grok) of llama.cpp v0.5.0.
constexpr auto kArchitectures = std::to_array<Architecture>({
    encoder_without_positions("bert"),
    {.name = "bloom", .has_positions = false},
    {.name = "cohere2", .rotates_windows = true, .parallel_sum = ParallelSum::StreamSecond},
    {.name = "cohere2moe",
     .rotates_windows = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true,
     .parallel_sum = ParallelSum::StreamSecond},
    {.name = "command-r", .parallel_sum = ParallelSum::StreamSecond},
    {.name = "deepseek4", .rows_taken = RowsTaken::BehindLayers},
    diffusion("dream"),
    encoder("eurobert"),
    {.name = "falcon", .parallel_sum = ParallelSum::StreamLast},
    {.name = "falcon-h1", .has_state_everywhere = true, .rows_taken = RowsTaken::BehindSum},
    {.name = "gemma3n", .norms_values = true},
    {.name = "gemma4",
     .norms_values = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true},
    {.name = "gemma-embedding", .has_cache = false, .is_encoder = true},
    {.name = "gpt-oss", .rows_taken = RowsTaken::BehindLayers, .keeps_last = true},
    {.name = "grok", .has_flash_attention = false},
    {.name = "gpt2", .has_positions = false},
    {.name = "gptneox", .parallel_sum = ParallelSum::StreamSecond},
    {.name = "jais", .has_positions = false},
    {.name = "jamba", .has_positions = false, .stream_first = StreamFirst::InBoth},
    encoder_without_positions("jina-bert-v2"),
    encoder("jina-bert-v3"),
    diffusion("llada"),
    diffusion("llada-moe"),
    {.name = "lfm2", .stream_first = StreamFirst::InBoth},
    {.name = "lfm2moe", .stream_first = StreamFirst::InBoth},
    {.name = "llama4", .unrotated_interval = 4, .scales_queries = true, .weighs_input = true},
    {.name = "minimax-01", .has_lightning_attention = true, .attention_interval = 8},
    {.name = "minimax-m3", .has_index_values = true},
    encoder("modern-bert"),
    {.name = "mpt", .has_positions = false},
    {.name = "nemotron_h",
     .has_positions = false,
     .has_lone_networks = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true},
    {.name = "nemotron_h_moe",
     .has_positions = false,
     .has_lone_networks = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true},
    encoder("neo-bert"),
    encoder("nomic-bert"),
    encoder("nomic-bert-moe"),
    {.name = "openelm", .stream_first = StreamFirst::InAttention},
    {.name = "phi3", .stream_first = StreamFirst::InNetwork},
    {.name = "phimoe", .stream_first = StreamFirst::InNetwork},
    {.name = "plamo", .parallel_sum = ParallelSum::StreamLast},
    {.name = "qwen35", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true},
    {.name = "qwen35moe", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true},
    {.name = "qwen3next", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true},
    {.name = "refact", .has_positions = false},
    diffusion("rnd1"),
    {.name = "smallthinker", .rotates_windows = true},
    {.name = "smollm3", .unrotated_interval = 4},
    {.name = "starcoder", .has_positions = false},
    {.name = "step35", .rows_taken = RowsTaken::BehindLayers, .keeps_last = true},
    {.name = "t5", .has_positions = false, .has_position_bias = true},
    {.name = "t5encoder", .is_encoder = true, .has_positions = false, .has_position_bias = true},
    encoder("wavtokenizer-dec"),
});
/// The default row describes a decoder with a cache and rotary positions.
constexpr Architecture kMostArchitectures{};

}  // namespace

const Architecture& architecture_named(std::string_view name) {
    const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
    return found == kArchitectures.end() ? kMostArchitectures : *found;
}

bool Keys::has(std::string_view key) const {
    return gguf_.keys.contains(name_of(key)) || gguf_.values.contains(name_of(key));
}

std::optional<std::uint64_t> Keys::number(std::string_view key) const {
    // If a value exists but isn't a number, the file is faulty, and the value isn't treated as
    // missing.
    const auto number = gguf_.number(name_of(key));
    if (!number && has(key))
        complain(key, "is not a non-negative integer");
    return number;
}

std::uint64_t Keys::width(std::string_view key, std::uint64_t otherwise) const {
    return std::min(number(key).value_or(otherwise), kMaxWidth);
}

std::uint64_t Keys::of_layer(std::string_view key,
                             std::size_t layer,
                             std::uint64_t otherwise) const {
    const auto* numbers = list(key);
    if (!numbers)
        return width(key, otherwise);
    // If a list is too short or has a negative item, the file is faulty.
    if (layer < numbers->size() && (*numbers)[layer] >= 0)
        return std::min(static_cast<std::uint64_t>((*numbers)[layer]), kMaxWidth);
    complain(key, "has no non-negative integer for layer " + std::to_string(layer));
    return 0;
}

Status Keys::check() const {
    if (problem_.empty())
        return Done{};
    return Error{ErrorCode::Malformed, problem_};
}

void Keys::complain(std::string_view key, std::string_view problem) const {
    if (problem_.empty())
        problem_ = name_of(key) + " " + std::string{problem};
}

namespace {

/// Maximum number of experts per token, which no model exceeds. The results of the experts are
/// added one by one, so a huge number of experts would take a long time.
constexpr std::uint64_t kMaxExpertsUsed = 1024;

/// The tensors of one layer; the keys are the parts of their names after "blk.N.".
using Tensors = std::map<std::string_view, const GgufTensor*>;

constexpr std::string_view kEncoder = "enc.";
constexpr std::string_view kDecoder = "dec.";
constexpr std::string_view kBlock = "blk.";

/// The name after "blk.", such as "4.attn_q.weight" for "blk.4.attn_q.weight" and also for
/// "dec.blk.4.attn_q.weight" (T5).
std::optional<std::string_view> name_in_block(std::string_view tensor) {
    if (tensor.starts_with(kEncoder) || tensor.starts_with(kDecoder))
        tensor.remove_prefix(kEncoder.size());
    if (!tensor.starts_with(kBlock))
        return std::nullopt;
    return tensor.substr(kBlock.size());
}

/// Sorts tensors by layer. If a model has an encoder and a decoder, only the decoder's tensors are
/// used.
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

/// The length of a tensor's rows; 0 if the tensor is missing.
std::uint64_t width_of(const Tensors& tensors, std::string_view name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : std::min(found->second->width, kMaxWidth);
}

std::uint64_t rows_of(const Tensors& tensors, std::string_view name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? 0 : std::min(found->second->rows, kMaxWidth);
}

/// Sets the attention parameters: the number of heads, the gate, and ranks and lengths for latent
/// attention.
void describe_attention(const Keys& keys,
                        const Tensors& tensors,
                        std::size_t layer,
                        LayerShape& shape) {
    auto& work = shape.work;
    work.heads = keys.of_layer("attention.head_count", layer, 0);
    work.is_fused = tensors.contains("attn_qkv.weight") && shape.key_heads > 0;
    const auto queries = work.heads * shape.key_length;
    // If the queries have a gate, the query matrix is twice as high.
    work.has_gate = queries > 0 && rows_of(tensors, "attn_q.weight") == 2 * queries;
    work.latent_rank = keys.width("attention.kv_lora_rank");
    work.query_rank = keys.width("attention.q_lora_rank");
    // If the header lists tensors, they show whether queries are in fact compressed.
    if (!tensors.empty())
        work.query_rank = width_of(tensors, "attn_q_b.weight");
    work.query_length = keys.width("attention.key_length_mla", keys.width("attention.key_length"));
    work.value_length =
        keys.width("attention.value_length_mla", keys.width("attention.value_length"));
    work.rope_length = keys.width("rope.dimension_count");
}

/// Sets the sizes of the indexer if the layer has an indexer. For layers that compress tokens,
/// model.cpp has already set the sizes of the indexer.
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

/// Sets the form and the widths of the feed-forward network or of the experts.
void describe_forward(const Keys& keys,
                      const Tensors& tensors,
                      std::size_t layer,
                      LayerWork& work) {
    const auto inner = keys.of_layer("feed_forward_length", layer, 0);
    if (tensors.size() < 2) {  // if the header lacks the layer's tensors, rely on the keys
        work.inner = inner;
        return;
    }
    work.inner = width_of(tensors, "ffn_down.weight");
    if (!tensors.contains("ffn_gate.weight") && work.inner > 0)
        // If there is no gate tensor, the gate is either part of the up tensor or missing.
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

/// Whether the layer is a delta net. The tensors of a delta net have different names in different
/// models.
bool is_delta_net(const Tensors& tensors) {
    return tensors.contains("ssm_ba.weight") || tensors.contains("ssm_beta_alpha.weight") ||
           tensors.contains("ssm_beta.weight") || tensors.contains("ssm_alpha.weight");
}

/// Distinguishes the kinds of recurrent layers by keys that exist only for one kind.
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

/// Sets the sizes of a recurrent layer.
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
    // Kimi's delta attention has separate metadata keys.
    if (const auto length = keys.width("kda.head_dim")) {
        work.inner_size = product(work.heads, length);
        work.state_size = length;
        work.groups = work.heads;
    }
    if (work.recurrence == Recurrence::ShortConvolution)
        work.inner_size = keys.width("embedding_length");
    if (work.recurrence == Recurrence::Lightning)
        work.inner_size = product(work.heads, keys.width("attention.key_length"));
    work.time_step_rank = keys.width("ssm.time_step_rank");
    const auto kernel = keys.width("ssm.conv_kernel", keys.width("shortconv.l_cache"));
    // A convolution over k tokens reads k - 1 tokens that precede the batch.
    work.kernel = kernel > 0 ? kernel - 1 : 0;
    if (work.recurrence == Recurrence::Rwkv)
        work.form = ForwardForm::Plain;
}

/// Whether the layer rotates queries and keys by position. If heads have a norm, the norm copies
/// queries and keys even if the layer does not rotate them.
bool is_rotated(const Keys& keys,
                const Tensors& tensors,
                const Architecture& architecture,
                std::size_t layer,
                bool is_windowed) {
    if (tensors.contains("attn_q_norm.weight"))
        return true;
    if (const auto interval = architecture.unrotated_interval)
        return (layer + 1) % interval != 0;
    if (architecture.rotates_windows)
        return is_windowed || layer < keys.width("leading_dense_block_count");
    return architecture.has_positions;
}

/// Determines from the tensors where the layer has norms, and whether the layer is parallel.
void describe_norms(const Keys& keys, const Tensors& tensors, LayerWork& work) {
    if (tensors.size() < 2)
        return;
    const bool has_post = tensors.contains("post_attention_norm.weight");
    work.has_first_norm =
        tensors.contains("attn_norm.weight") || tensors.contains("attn_norm_2.weight");
    const bool has_output_norm = tensors.contains("attn_output_norm.weight");
    work.has_second_norm = tensors.contains("ffn_norm.weight") || tensors.contains("ffn_norm") ||
                           tensors.contains("attn_norm_2.weight") ||
                           (has_post && !tensors.contains("post_ffw_norm.weight")) ||
                           (has_output_norm && work.has_first_norm);
    work.has_sum_norms =
        has_output_norm && tensors.contains("layer_output_norm.weight") && !work.has_first_norm;
    work.is_parallel = keys.width("use_parallel_residual") > 0 ||
                       (work.has_first_norm && !work.has_second_norm && !has_post &&
                        (work.inner > 0 || work.experts > 0));
}

constexpr std::uint64_t kBytesOfState = 4;  ///< the state is stored in f32

std::uint64_t without_one(std::uint64_t number) {
    return number > 0 ? number - 1 : 0;
}

/// The number of values in the state of one layer for one stream.
std::uint64_t state_numbers(const Keys& keys, const Architecture& architecture) {
    const auto width = keys.width("embedding_length");
    if (const auto head = keys.width("wkv.head_size"))  // RWKV
        return product(width, sum(keys.width("token_shift_count", 2), head));
    if (const auto cache = keys.width("shortconv.l_cache"))  // LFM2
        return product(width, cache - 1);
    const auto heads = keys.of_layer("attention.head_count", 0, 0);
    const auto kernel = without_one(keys.width("ssm.conv_kernel"));
    if (const auto length = keys.width("kda.head_dim"))  // Kimi: three convolutions and the state
        return product(heads, length, sum(product(3, kernel), length));
    if (architecture.has_lightning_attention) {
        const auto length = keys.width("attention.key_length", heads > 0 ? width / heads : 0);
        return product(heads, length, length);
    }
    const auto inner = keys.width("ssm.inner_size");
    const auto state = keys.width("ssm.state_size");
    const auto groups = product(2, keys.width("ssm.group_count"), state);
    return sum(product(kernel, sum(inner, groups)), product(state, inner));
}

/// The rule that determines which layers of an architecture have a window.
struct Period {
    std::string_view architecture = {};
    std::uint64_t layers = 0;  ///< every n-th layer sees the whole context; 0 means no layer
    /// In each period, the layer that sees the whole context is the first layer, not the last.
    bool is_dense_first = false;
    std::uint64_t window = 0;      ///< the window's size if the file does not specify one
    std::uint64_t only_model = 0;  ///< only models with this many layers have windows
};
constexpr auto kPeriods = std::to_array<Period>(
    {{.architecture = "gemma2", .layers = 2, .window = 4096},
     {.architecture = "gemma3", .layers = 6},
     {.architecture = "gemma3n", .layers = 5},
     {.architecture = "gemma-embedding", .layers = 6},
     {.architecture = "cohere2", .layers = 4},
     {.architecture = "cohere2moe", .layers = 4, .is_dense_first = true},
     {.architecture = "deepseek4", .layers = 0},
     {.architecture = "gpt-oss", .layers = 2},
     {.architecture = "exaone4", .layers = 4, .window = 4096, .only_model = 64},
     {.architecture = "exaone-moe", .layers = 4},
     {.architecture = "afmoe", .layers = 4},
     {.architecture = "laguna", .layers = 4, .is_dense_first = true},
     {.architecture = "olmo2", .layers = 4},
     {.architecture = "llama4", .layers = 4},
     {.architecture = "plamo3", .layers = 8},
     {.architecture = "smallthinker", .layers = 4, .is_dense_first = true}});

/// The size of Llama 4's window in tokens, which is used if the file does not specify a window.
/// Source: src/models/llama4.cpp.
constexpr std::uint64_t kChunk = 8192;

const Period* known_period(std::string_view architecture) {
    const auto* found = std::ranges::find(kPeriods, architecture, &Period::architecture);
    return found == kPeriods.end() ? nullptr : found;
}

std::vector<bool> by_period(std::uint64_t period, bool is_dense_first, std::size_t layers) {
    std::vector<bool> windowed(layers);
    for (std::size_t i = 0; i < layers; ++i)
        windowed[i] = period == 0 || (is_dense_first ? i % period != 0 : i % period < period - 1);
    return windowed;
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
        describe_norms(keys, tensors[i], shape.work);
        shape.work.has_positions = is_rotated(keys, tensors[i], architecture, i, shape.is_windowed);
        shape.work.has_position_bias = architecture.has_position_bias;
        shape.work.crosses = tensors[i].contains("cross_attn_q.weight");
        shape.work.weighs_input = architecture.weighs_input;
    }
}

Bytes recurrent_state(const Keys& keys, const Architecture& architecture) {
    return Bytes{product(kBytesOfState, state_numbers(keys, architecture))};
}

bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads) {
    if (keys.width("wkv.head_size") > 0)
        return true;
    // The most specific source is used: an explicit list, otherwise the rule for the architecture,
    // otherwise an interval.
    if (keys.has("attention.recurrent_layers"))
        return keys.of_layer("attention.recurrent_layers", layer, 0) != 0;
    if (architecture.has_lone_networks)
        return heads == 0 && keys.of_layer("feed_forward_length", layer, 0) == 0;
    const auto interval = keys.width("full_attention_interval", architecture.attention_interval);
    return heads == 0 || (interval > 0 && (layer + 1) % interval != 0);
}

WindowPattern window_pattern(const Keys& keys, std::string_view architecture, std::size_t layers) {
    constexpr std::string_view kPattern = "attention.sliding_window_pattern";
    const auto* known = known_period(architecture);
    WindowPattern pattern{.is_windowed = std::vector<bool>(layers)};
    if (known && known->only_model > 0 && known->only_model != layers)
        return pattern;
    pattern.window =
        keys.number("attention.sliding_window").value_or(known ? known->window : std::uint64_t{0});
    if (architecture == "llama4" && pattern.window == 0)
        pattern.window = keys.number("attention.chunk_size").value_or(kChunk);
    if (pattern.window == 0)
        return pattern;
    // The pattern in the file takes precedence over the known pattern of the architecture.
    const auto* list = keys.list(kPattern);
    if (list && !list->empty()) {
        for (std::size_t i = 0; i < layers; ++i)
            pattern.is_windowed[i] = (*list)[i % list->size()] != 0;
    } else if (const auto period = keys.number(kPattern)) {
        pattern.is_windowed = by_period(*period, known && known->is_dense_first, layers);
    } else if (known) {
        pattern.is_windowed = by_period(known->layers, known->is_dense_first, layers);
    } else {
        pattern.is_guessed = true;
    }
    return pattern;
}

}  // namespace gpuprobe::inline plan
