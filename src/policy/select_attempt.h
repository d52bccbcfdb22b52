// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/judge.h"
#include "policy/select.h"
#include "policy/select_question.h"

/// The first half of a selection: each candidate is judged, then they are compared. What the choice
/// means for the consumer is policy/select.cpp's.
namespace gpuprobe::inline policy {

/// Every candidate with its final verdict, and what came of it.
struct Attempt {
    std::vector<Judged> all = {};            ///< in the order in which they would be taken
    std::vector<std::string> detected = {};  ///< the consumer's words
    bool was_given_up = false;               ///< what was asked for is not there

    /// What was measured fastest, where that counts; the first accepted candidate that is its GPU's
    /// own first choice; else the CPU; null for none.
    [[nodiscard]] const Judged* best(const SelectQuestion& question) const;
};

/// A profile may take a request that can't be met for none; whoever is strict may not.
Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report);

/// Whether another accepted backend on the same GPU comes first for the GPU's vendor.
bool is_outdone(const SelectQuestion& question,
                const std::vector<Judged>& all,
                const Judged& judged);

}  // namespace gpuprobe::inline policy
