// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "plan/plan.h"

namespace gpuprobe::inline plan {

/// A GPU, reduced to the facts that placement needs.
struct Slot {
    Bytes budget = {};
    /// Memory for the driver's context. This memory counts only if the slot gets at least one
    /// piece.
    Bytes overhead = {};
    /// share of the layers, relative to the weights of the other slots; if all weights are 0, all
    /// slots get the same share
    float weight = 0;
    /// The size of the largest buffer that the driver supports; nullopt if no limit is known.
    std::optional<Bytes> buffer_limit = {};
};

/// The load to place: a model and its run settings, or a number of bytes that may be split
/// anywhere.
struct Load {
    const Model* model = nullptr;
    RunShape run = {};
    std::uint64_t pipeline_copies = 1;
    bool is_reordered = false;  ///< BackendTraits::reorders
    Bytes bytes = {};           ///< number of bytes, if there is no model

    /// Number of pieces: the layers and the output.
    [[nodiscard]] std::uint64_t pieces() const;
};

/// The memory and pieces that a placement puts into each slot.
struct Placement {
    std::vector<Bytes> used = {};
    std::vector<std::uint64_t> pieces = {};
    /// The largest tensor in each slot that has a limit for buffers; 0 in the other slots.
    std::vector<Bytes> largest = {};
    bool is_complete = false;
};

/// Places the last `offloaded` pieces in the same way as llama.cpp splits layers. The slots get
/// consecutive layers in proportion to their weights, and the output comes after the last layer.
/// Source: llama_model_base::load_tensors in src/llama-model.cpp of llama.cpp v0.5.0.
Placement split_layers(const Load& load, const std::vector<Slot>& slots, std::uint64_t offloaded);

/// Places as many pieces as the slots can hold. With `spare`, each size is increased by a tenth.
/// Without a model, the bytes fill one slot after another.
Placement place(const Load& load, const std::vector<Slot>& slots, bool spare);

/// Returns the slots with the weights for which the most layers fit. The result has the given
/// weights or, if more layers fit that way, weights in proportion to the memory that each slot has
/// left after its compute buffer. A user would pass the latter weights with --tensor-split.
std::vector<Slot> best_split(const Load& load, const std::vector<Slot>& slots);

/// The largest tensor of the complete load, if the slot has a limit for buffers; otherwise 0.
Bytes largest_of(const Load& load, const Slot& slot);

/// The memory that the complete load needs in one slot.
Bytes whole_of(const Load& load, const Slot& slot);

/// Whether the complete load fits into the slots.
Fit fit_of(const Load& load, const std::vector<Slot>& slots);

/// The largest context, in steps of 256, at which everything fits even if each size is a tenth
/// larger than estimated. The result is at most the context for which the model was trained, if
/// that context is known. nullopt if not even a context of 256 tokens fits.
std::optional<std::uint64_t> max_context_of(Load load, const std::vector<Slot>& slots);

}  // namespace gpuprobe::inline plan
