// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "plan/plan.h"

namespace gpuprobe::inline plan {

/// A GPU as far as placing goes.
struct Slot {
    Bytes budget = {};
    Bytes overhead = {};
    float weight = 0;  ///< its part of the layers among all; all zero: alike
};

/// What is to be placed: a model with the way it runs, or so many bytes that may be cut anywhere.
struct Load {
    const Model* model = nullptr;
    RunShape run = {};
    std::uint64_t pipeline_copies = 1;
    bool is_reordered = false;  ///< BackendTraits::reorders
    Bytes bytes = {};           ///< without a model

    /// Layers and the output.
    [[nodiscard]] std::uint64_t pieces() const;
};

/// Where the pieces went, by slot.
struct Placement {
    std::vector<Bytes> used = {};
    std::vector<std::uint64_t> pieces = {};
    bool is_complete = false;
};

/// `offloaded` pieces over the slots as llama.cpp splits layers: counted from the output, each slot
/// the share of its weight, in the order of the slots, the output behind the last layer.
/// Source: llama_model_base::load_tensors in src/llama-model.cpp of llama.cpp v0.5.0.
Placement split_layers(const Load& load, const std::vector<Slot>& slots, std::uint64_t offloaded);

/// The most pieces that the slots hold, placed. With `spare` every size counts a tenth more. Bytes
/// without a model fill one slot after the other.
Placement place(const Load& load, const std::vector<Slot>& slots, bool spare);

/// The slots with their weights, or, where those do not hold everything, with the weights by what
/// each has left beside the computation, if more fits then: what a user would give --tensor-split.
std::vector<Slot> best_split(const Load& load, const std::vector<Slot>& slots);

/// What all of it takes in one slot.
Bytes whole_of(const Load& load, const Slot& slot);

Fit fit_of(const Load& load, const std::vector<Slot>& slots);

/// The largest context, a multiple of 256, at which everything fits with a tenth to spare; at most
/// the one that the model was trained for, where that is known. nullopt: not even 256.
std::optional<std::uint64_t> max_context_of(Load load, const std::vector<Slot>& slots);

}  // namespace gpuprobe::inline plan
