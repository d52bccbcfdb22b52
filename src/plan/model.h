// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "base/result.h"
#include "plan/gguf.h"
#include "report/outcome.h"

namespace gpuprobe::inline plan {

constexpr std::uint64_t kMaxLayers = kMaxGgufListItems;

/// What a layer that keeps a state computes; None: it attends.
enum class Recurrence { None, Mamba, Mamba2, ShortConvolution, DeltaNet, Rwkv, Lightning };

/// How the two halves of a feed-forward network lie in the file.
enum class ForwardForm {
    Gated,  ///< gate and up are two tensors
    Fused,  ///< one tensor holds both
    Plain,  ///< there is no gate
};

/// What one layer computes, as far as it takes memory.
struct LayerWork {
    std::uint64_t heads = 0;         ///< of queries
    bool is_fused = false;           ///< queries, keys and values come from one product
    bool has_gate = false;           ///< queries come with a gate of their size
    bool has_positions = true;       ///< queries and keys are turned by position
    bool has_position_bias = false;  ///< scores are moved by it
    bool crosses = false;            ///< a second attention reads what an encoder said (T5)
    bool has_first_norm = true;
    bool has_second_norm = true;
    bool has_sum_norms = false;  ///< behind what attention and network add, not before them (BERT)
    bool is_network = false;     ///< there is neither attention nor a state
    bool is_parallel = false;    ///< attention and feed-forward read the same

    std::uint64_t index_heads = 0;   ///< of an indexer, which chooses what attention reads
    std::uint64_t index_choice = 0;  ///< tokens that it chooses

    std::uint64_t latent_rank = 0;   ///< of MLA; 0: none
    std::uint64_t query_rank = 0;    ///< 0: queries are not compressed
    std::uint64_t query_length = 0;  ///< of MLA, of one head
    std::uint64_t value_length = 0;  ///< of MLA, of one head
    std::uint64_t rope_length = 0;

    ForwardForm form = ForwardForm::Gated;
    std::uint64_t inner = 0;  ///< width of the dense network; 0: none
    std::uint64_t experts = 0;
    std::uint64_t experts_used = 0;
    std::uint64_t expert_inner = 0;
    std::uint64_t shared_inner = 0;
    bool has_fused_experts = false;
    bool weighs_input = false;  ///< what experts read is multiplied, not what they say

    Recurrence recurrence = Recurrence::None;
    std::uint64_t inner_size = 0;
    std::uint64_t state_size = 0;
    std::uint64_t groups = 0;
    std::uint64_t kernel = 0;  ///< tokens before the batch that a convolution reads
    std::uint64_t time_step_rank = 0;
    bool operator==(const LayerWork&) const = default;
};

/// What one layer keeps per token of context, and what of fixed size.
struct LayerShape {
    Bytes weights = {};
    Bytes largest = {};              ///< of its tensors
    std::uint64_t key_heads = 0;     ///< 0: no cache
    std::uint64_t key_length = 0;    ///< numbers per head
    std::uint64_t value_length = 0;  ///< 0 where values are a view of the keys (MLA)
    /// Numbers per token that an indexer keeps in a cache of its own; 0: there is none.
    std::uint64_t index_length = 0;
    bool has_index_values = false;  ///< as many values as keys
    /// Keys of so many tokens become one, beside a cache of the last tokens (DeepSeek V4); 0: none.
    std::uint64_t compression = 0;
    bool is_cached = false;  ///< has a place in the cache, of no width perhaps (Deci)
    bool is_windowed = false;
    bool is_recurrent = false;
    /// Predicts the tokens after the next, for which the runtime loads it as another model.
    bool is_unused = false;
    Bytes state = {};  ///< per stream, whatever the context
    LayerWork work = {};
    bool operator==(const LayerShape&) const = default;
};

/// A model as far as its memory goes.
struct Model {
    std::optional<std::string> name = {};
    std::string architecture = {};
    std::vector<LayerShape> layers = {};
    Bytes embedding = {};  ///< weights that stay with the CPU
    Bytes output = {};     ///< weights behind the last layer, a copy of the embedding too
    std::uint64_t embedding_length = 0;  ///< numbers per token
    std::optional<std::uint64_t> vocabulary = {};
    std::optional<std::uint64_t> trained_context = {};
    std::uint64_t widest_values = 0;  ///< numbers per token in the layer that has most
    std::uint64_t window = 0;         ///< tokens that a windowed layer sees
    bool attends_batch = false;       ///< and no cache
    bool has_logits = true;
    std::uint64_t encoded = 0;        ///< tokens that an encoder has said, for layers that cross
    bool has_embedding_norm = false;  ///< right behind the embedding, by the CPU
    bool has_position_rows = false;   ///< added to the embedding, from a matrix of positions
    bool has_layer_norm = false;      ///< and no RMS norm
    std::uint64_t deep_layers = 0;    ///< that add an input of their own (Qwen3-VL)
    std::uint64_t extra_width = 0;    ///< of embeddings that each layer has besides (Gemma 3n)
    std::vector<Reason> notes = {};
};

/// The model that a header describes.
///
/// Errors: InvalidRequest for a file that holds no language model (a projector, an adapter, a
/// vocabulary); Malformed when a value is not of its key's type, or out of range, or contradicts
/// another.
/// Sources: src/llama-arch.cpp (keys), src/llama-hparams.cpp and src/models (what they mean) of
/// llama.cpp, as of August 2026.
Result<Model> model_of(const Gguf& gguf);

}  // namespace gpuprobe::inline plan
