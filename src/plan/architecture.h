// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprobe::inline plan {

/// The place at which the graph extracts the rows of tokens whose logits are wanted: in the last
/// layer before its feed-forward network, after the last layer, or after the output norm. The
/// reserved graph extracts the rows of all tokens.
/// graph extracts the rows of all tokens.
enum class RowsTaken { InLastLayer, BehindLayers, BehindNorm };

/// Properties of an architecture in llama.cpp that neither the keys nor the tensors of a file show.
struct Architecture {
    /// Value of general.architecture.
    std::string_view name = {};
    bool has_cache = true;           ///< false: the model computes a whole text at once
    bool is_encoder = false;         ///< attends only to its batch and predicts no token
    bool ties_output = true;         ///< a model without an output tensor uses its embedding
    bool has_positions = true;       ///< queries and keys are rotated by position (RoPE)
    bool has_position_bias = false;  ///< attention scores get a bias by position instead
    bool has_flash_attention = true;
    bool has_state_everywhere = false;  ///< each layer has both attention and a state
    bool has_index_values = false;      ///< the indexer also caches values, and selects per head
    bool has_lone_networks = false;     ///< layers without key heads are feed-forward networks only
    bool has_lightning_attention = false;  ///< recurrent layers keep a keys × keys matrix per head
    std::uint64_t attention_interval = 0;  ///< one of this many layers attends; 0: all
    bool weighs_input = false;             ///< see LayerWork::weighs_input
    RowsTaken rows_taken = RowsTaken::InLastLayer;
    /// The tensor from which rows are extracted is an output of the graph as well. This is so for
    /// models that predict several tokens ahead.
    bool keeps_last = false;
    /// Count the mask of the full context until the end of the graph. In llama.cpp another tensor
    /// takes over a part of the mask's memory, and the remainder is too small for the logits.
    /// Counting it until the end never underestimates.
    bool holds_mask = false;
    /// In layers with parallel attention and feed-forward network, the output projection of
    /// attention is computed after the network.
    bool projects_late = false;
};

/// The row of an architecture; most architectures have none and get the default.
const Architecture& architecture_named(std::string_view name);

}  // namespace gpuprobe::inline plan
