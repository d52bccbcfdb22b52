// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprobe::inline plan {

/// Where the rows of the tokens whose logits are wanted are taken: before the last network, behind
/// it, or behind the norm of the output. In the reserved graph they are all rows.
enum class RowsTaken { InLastLayer, BehindLayers, BehindNorm };

/// What llama.cpp does with models of one architecture, where neither keys nor tensors tell.
struct Architecture {
    std::string_view name = {};
    bool has_cache = true;           ///< no: what computes a whole text at once
    bool is_encoder = false;         ///< attends to its batch alone, and predicts no token
    bool ties_output = true;         ///< without an output of its own it has the embedding for one
    bool has_positions = true;       ///< queries and keys are turned by position
    bool has_position_bias = false;  ///< of each score, in place of turning
    bool has_flash_attention = true;
    bool has_state_everywhere = false;  ///< each layer attends and keeps a state
    bool has_index_values = false;      ///< an indexer keeps values too, and chooses for each head
    bool has_lone_networks = false;     ///< layers without heads of keys are networks alone
    bool has_lightning_attention = false;  ///< recurrent layers keep keys · keys for each head
    std::uint64_t attention_interval = 0;  ///< every so many layers one attends; 0: all
    bool weighs_input = false;             ///< LayerWork::weighs_input
    RowsTaken rows_taken = RowsTaken::InLastLayer;
    /// What rows are taken of is an output too, for models that predict the tokens after the next.
    bool keeps_last = false;
    /// What takes the place of the mask of the whole context leaves too little of it for the
    /// logits. It is counted to the end then, which is never too little.
    bool holds_mask = false;
    /// Beside a network that reads the same, the product of attention is made after the network.
    bool projects_late = false;
};

/// By general.architecture; one that has no row does what most do.
const Architecture& architecture_named(std::string_view name);

}  // namespace gpuprobe::inline plan
