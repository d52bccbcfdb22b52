// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "plan/plan.h"

namespace gpuprobe {

/// Whole things to place, in the order in which they go to GPUs: the output, then the last layer,
/// the one before it, and so on. What has no layers is one piece per MiB.
struct Load {
    std::vector<Bytes> pieces = {};
    Bytes fixed = {};           ///< on each GPU that holds a piece
    bool is_divisible = false;  ///< one piece that may be cut anywhere
};

/// A GPU as far as placing goes.
struct Slot {
    Bytes budget = {};
    Bytes overhead = {};
};

/// Where the pieces went, by slot.
struct Placement {
    std::vector<Bytes> used = {};
    std::vector<std::uint64_t> pieces = {};
    bool is_complete = false;
};

/// Fills the slots one after the other, each from where the one before ended: pieces stay in order,
/// as llama.cpp splits them. With `spare` every size counts a tenth more.
Placement place(const Load& load, const std::vector<Slot>& slots, bool spare);

/// What all of it takes in one slot.
Bytes whole_of(const Load& load, const Slot& slot);

Load load_of(const Model& model, const RunShape& run);

Fit fit_of(const Load& load, const std::vector<Slot>& slots);

/// The largest context, a multiple of 256, at which everything fits with a tenth to spare; at most
/// the one that the model was trained for, where that is known. nullopt: not even 256.
std::optional<std::uint64_t> max_context_of(const Model& model,
                                            RunShape run,
                                            const std::vector<Slot>& slots);

}  // namespace gpuprobe
