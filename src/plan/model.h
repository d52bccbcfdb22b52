// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "plan/gguf.h"
#include "report/outcome.h"

namespace gpuprobe::inline plan {

constexpr std::uint64_t kMaxLayers = kMaxGgufListItems;

/// The computation of a recurrent layer. `None` means that the layer has attention instead of a
/// recurrence.
enum class Recurrence { None, Mamba, Mamba2, ShortConvolution, DeltaNet, Rwkv, Lightning };

/// How a file stores the two inner matrices of a feed-forward network.
enum class ForwardForm {
    Gated,  ///< two tensors: "gate" and "up"
    Fused,  ///< one tensor that contains "gate" and "up"
    Plain,  ///< only "up", without a gate
};

/// The parts of a layer's computation that determine its memory.
struct LayerWork {
    std::uint64_t heads = 0;         ///< number of query heads
    bool is_fused = false;           ///< queries, keys and values come from one matrix product
    bool has_gate = false;           ///< queries come with a gate of the same size
    bool has_positions = true;       ///< queries and keys are rotated by position (RoPE)
    bool has_position_bias = false;  ///< a position bias is added to the scores of attention
    bool crosses = false;            ///< a second attention reads the output of an encoder (T5)
    bool has_first_norm = true;
    bool has_second_norm = true;
    /// norms come after the additions, not before the computations (BERT)
    bool has_sum_norms = false;
    bool is_network = false;   ///< only a feed-forward network, without attention or state
    bool is_parallel = false;  ///< attention and feed-forward network read the same input

    /// number of heads of the indexer, which selects the tokens that attention reads
    std::uint64_t index_heads = 0;
    std::uint64_t index_choice = 0;  ///< number of tokens that the indexer selects

    std::uint64_t latent_rank = 0;   ///< rank of latent attention (MLA); 0 without latent attention
    std::uint64_t query_rank = 0;    ///< rank of compressed queries; 0 if queries aren't compressed
    std::uint64_t query_length = 0;  ///< length of a query per head, for latent attention
    std::uint64_t value_length = 0;  ///< length of a value per head, for latent attention
    std::uint64_t rope_length = 0;

    ForwardForm form = ForwardForm::Gated;
    /// width of the dense network; 0 if there is only a mixture of experts
    std::uint64_t inner = 0;
    std::uint64_t experts = 0;
    std::uint64_t experts_used = 0;
    std::uint64_t expert_inner = 0;
    std::uint64_t shared_inner = 0;
    bool has_fused_experts = false;
    /// the router's weights are applied to the input of experts, not to their output
    bool weighs_input = false;

    Recurrence recurrence = Recurrence::None;
    std::uint64_t inner_size = 0;
    std::uint64_t state_size = 0;
    std::uint64_t groups = 0;
    std::uint64_t kernel = 0;  ///< number of earlier tokens that a convolution reads
    std::uint64_t time_step_rank = 0;
    bool operator==(const LayerWork&) const = default;
};

/// The memory that one layer needs: weights, numbers per token of the context, and a state of fixed
/// size.
struct LayerShape {
    Bytes weights = {};
    Bytes largest = {};            ///< size of the layer's largest tensor
    std::uint64_t key_heads = 0;   ///< number of key heads; 0 if the layer has no cache
    std::uint64_t key_length = 0;  ///< length of a key per head
    /// length of a value; 0 if values are a view of the keys (MLA)
    std::uint64_t value_length = 0;
    /// Numbers per token in the separate cache of an indexer; 0 if there is no indexer.
    std::uint64_t index_length = 0;
    bool has_index_values = false;  ///< the indexer caches as many values as keys
    /// The number of tokens that are compressed into one row of keys, in addition to a cache of the
    /// most recent tokens (DeepSeek V4); 0 means no compression.
    std::uint64_t compression = 0;
    /// whether the layer has an entry in the cache, which may have the width 0 (Deci)
    bool is_cached = false;
    bool is_windowed = false;
    bool is_recurrent = false;
    /// Whether the layer predicts tokens after the next token. The runtime loads prediction layers
    /// of this kind as a separate model.
    bool is_unused = false;
    Bytes state = {};  ///< size of the state per stream, independent of the context
    LayerWork work = {};
    bool operator==(const LayerShape&) const = default;
};

/// A model, reduced to the facts that determine its memory.
struct Model {
    std::optional<std::string> name = {};
    std::string architecture = {};
    std::vector<LayerShape> layers = {};
    Bytes embedding = {};  ///< weights that stay in host memory
    Bytes output = {};     ///< weights after the last layer, including a copy of a tied embedding
    std::uint64_t embedding_length = 0;  ///< length of the embedding of a token
    std::optional<std::uint64_t> vocabulary = {};
    std::optional<std::uint64_t> trained_context = {};
    /// maximum length of a token's values in all layers
    std::uint64_t widest_values = 0;
    std::uint64_t window = 0;    ///< number of tokens that a windowed layer sees
    bool attends_batch = false;  ///< attention sees only the batch, and there is no cache
    bool has_logits = true;
    /// number of tokens in the encoder's output, for layers with cross-attention
    std::uint64_t encoded = 0;
    bool has_embedding_norm = false;  ///< the CPU computes a norm directly after the embedding
    bool has_position_rows = false;   ///< rows of a position matrix are added to the embedding
    bool has_layer_norm = false;      ///< layer norms instead of RMS norms
    std::uint64_t deep_layers = 0;    ///< number of early layers with another input (Qwen3-VL)
    /// width of the additional embeddings of all layers (Gemma 3n)
    std::uint64_t extra_width = 0;
    std::vector<Reason> notes = {};
};

/// The model that a GGUF header describes.
///
/// Errors: InvalidRequest if the file isn't a language model but, for example, a projector, an
/// adapter or a vocabulary; Malformed if a value has the wrong type, is out of range, or
/// contradicts another value. Sources: src/llama-arch.cpp (keys), src/llama-hparams.cpp and
/// src/models (their meaning) of llama.cpp, as of August 2026.
Result<Model> model_of(const Gguf& gguf);

/// A multimodal projector, which is a separate file next to the model, with an encoder for images.
struct Projector {
    Bytes weights = {};
    Bytes compute = {};  ///< compute buffer for the image size for which llama.cpp reserves memory
    Bytes compute_without_flash = {};  ///< size of the compute buffer without flash attention
};

/// The projector that a GGUF header describes. `compute` is known for image encoders, and 0 for an
/// audio encoder.
///
/// Errors: InvalidRequest if the file isn't a projector; Malformed if a value has the wrong type.
/// Sources: tools/mtmd/clip.cpp of llama.cpp at 25d7b14e (warm-up sizes and graphs of encoders).
Result<Projector> projector_of(const Gguf& gguf);

// A model without its file, as JSON. Clients send this document to the daemon, because the daemon
// does not open files of users (docs/plan.md, "A model as a document").

constexpr Bytes kMaxModelDocument = mib(1);

/// Reads a document. Errors: TooLarge if the document exceeds kMaxModelDocument; Malformed, with
/// the path, if the JSON isn't a gpuprobe.model/1 document or exceeds a limit in plan/gguf.h; also
/// the errors of model_of().
Result<Model> model_from_document(std::string_view json);

/// Writes the document, which contains exactly the parts of a header that model_of() reads.
Value model_document_of(const Gguf& gguf);

}  // namespace gpuprobe::inline plan
