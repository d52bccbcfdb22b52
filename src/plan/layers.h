// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/gguf.h"
#include "plan/model.h"

namespace gpuprobe::inline plan {

/// The place at which the graph extracts the rows of the tokens whose logits are requested. In the
/// last layer, rows are extracted before or after the result of attention is added to the stream.
/// The graph for which memory is reserved extracts the rows of all tokens.
enum class RowsTaken { InLastLayer, BehindSum, BehindLayers, BehindNorm };

/// The additions in a layer whose first operand is the residual stream. If possible, the result of
/// an addition uses the memory of its first operand.
enum class StreamFirst { Never, InAttention, InNetwork, InBoth };

/// How a layer adds the results of attention and of a feed-forward network if both read the same
/// input. The graph computes the operands of an addition from left to right.
enum class ParallelSum {
    AttentionFirst,  ///< (attention + network) + stream
    StreamSecond,    ///< (network + stream) + attention
    StreamLast,      ///< (network + attention) + stream
};

/// Properties of an architecture in llama.cpp that cannot be derived from the keys or the tensors
/// of a file.
struct Architecture {
    /// The value of the key general.architecture.
    std::string_view name = {};
    bool has_cache = true;      ///< false if the model computes all tokens of a text at once
    bool is_encoder = false;    ///< attention sees only the batch, and no token is predicted
    bool ties_output = true;    ///< the embedding replaces a missing output tensor
    bool has_positions = true;  ///< queries and keys are rotated by position (RoPE)
    /// for n > 0, every n-th layer does not rotate by position; 0 means that all layers rotate
    std::uint64_t unrotated_interval = 0;
    /// Layers that see the whole context do not rotate by position, except dense layers before the
    /// first layer with experts.
    bool rotates_windows = false;
    bool norms_values = false;       ///< values have a norm, which copies the values
    bool scales_queries = false;     ///< layers that do not rotate scale their queries by position
    bool has_position_bias = false;  ///< a position bias is added to scores instead of RoPE
    bool has_flash_attention = true;
    bool has_state_everywhere = false;  ///< each layer has both attention and a state
    /// The indexer also caches values, and selects tokens per head.
    bool has_index_values = false;
    bool has_lone_networks = false;  ///< layers without key heads are only feed-forward networks
    bool has_lightning_attention = false;  ///< recurrent layers keep a keys × keys matrix per head
    /// for n > 0, every n-th layer has attention; 0 means all layers
    std::uint64_t attention_interval = 0;
    bool weighs_input = false;  ///< see LayerWork::weighs_input
    RowsTaken rows_taken = RowsTaken::InLastLayer;
    /// The tensor from which rows are extracted is also an output of the graph, as in models that
    /// predict several tokens ahead.
    bool keeps_last = false;
    ParallelSum parallel_sum = ParallelSum::AttentionFirst;
    StreamFirst stream_first = StreamFirst::Never;
};

/// The row for an architecture, or the default row, which applies to most architectures.
const Architecture& architecture_named(std::string_view name);

/// The maximum number of heads, and the maximum length and width in a layer. If a number in a file
/// is larger, the file is faulty.
constexpr std::uint64_t kMaxWidth = 1U << 24U;

/// Reads the values of one architecture by short keys, such as "block_count" for
/// "llama.block_count". If a value has the wrong type, the reader records this problem for check(),
/// so that the value isn't mistaken for a missing value.
class Keys {
public:
    Keys(const Gguf& gguf, std::string architecture)
        : gguf_{gguf}, prefix_{std::move(architecture) + "."} {}

    [[nodiscard]] std::string_view architecture() const {
        return std::string_view{prefix_}.substr(0, prefix_.size() - 1);
    }
    [[nodiscard]] std::string name_of(std::string_view key) const {
        return prefix_ + std::string{key};
    }
    [[nodiscard]] bool has(std::string_view key) const;
    /// A non-negative integer; nullopt if the value is missing.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
    /// A non-negative integer of at most kMaxWidth; if the value is missing, `otherwise`.
    [[nodiscard]] std::uint64_t width(std::string_view key, std::uint64_t otherwise = 0) const;
    [[nodiscard]] const std::vector<std::int64_t>* list(std::string_view key) const {
        return gguf_.list(name_of(key));
    }
    /// The number for one layer: an item of a list that has one item per layer, or a single number
    /// that applies to all layers.
    [[nodiscard]] std::uint64_t of_layer(std::string_view key,
                                         std::size_t layer,
                                         std::uint64_t otherwise) const;

    /// Reports the first value that has the wrong type. Errors: Malformed.
    [[nodiscard]] Status check() const;

private:
    void complain(std::string_view key, std::string_view problem) const;

    const Gguf& gguf_;
    std::string prefix_;
    mutable std::string problem_ = {};
};

/// The number of the layer in a tensor's name, which follows "blk.".
std::optional<std::size_t> layer_of(std::string_view tensor);

/// Determines the computation of each layer from its tensors, or from the keys if the file lists no
/// tensors. Sources: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
void describe_work(const Gguf& gguf, const Keys& keys, Model& model);

/// Size of the state that a recurrent layer keeps for each stream, which does not depend on the
/// context; 0 for models without recurrent layers. Source: n_embd_r and n_embd_s in
/// src/llama-hparams.cpp of llama.cpp v0.5.0.
Bytes recurrent_state(const Keys& keys, const Architecture& architecture);

/// Whether the layer has a recurrent state instead of a cache for keys and values. `heads` is the
/// number of the layer's key heads. Source: src/models of llama.cpp v0.5.0.
bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads);

/// Determines which layers see only a window of the context.
struct WindowPattern {
    std::uint64_t window = 0;  ///< size of the window in tokens; 0 if no layer has a window
    std::vector<bool> is_windowed = {};  ///< for each layer, whether it has a window
    /// if the window's size is known, but not which layers have a window, all layers are treated as
    /// layers without a window
    bool is_guessed = false;
};

/// Reads ARCH.attention.sliding_window and .sliding_window_pattern. The pattern is a list with an
/// item for each layer, or a period n, which means that in each group of n layers, the last layer
/// (in some architectures, the first layer) sees the whole context. If the file has no pattern, the
/// period is the period that llama.cpp uses for the architecture. Source: set_swa_pattern in
/// src/llama-hparams.cpp and src/models of llama.cpp, August 2026.
WindowPattern window_pattern(const Keys& keys, std::string_view architecture, std::size_t layers);

}  // namespace gpuprobe::inline plan
