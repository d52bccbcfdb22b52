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

// The order by what was measured (Judged::score; more is better).

/// Scores this near to each other, as a part of the better one, are equal: a second run moves them
/// as much.
constexpr double kSameSpeed = 0.05;

/// What comes first of the candidates that are accepted:
///
/// 1. the GPU's that was measured fastest, unless the CPU was measured faster; of those as fast as
///    it, the first in the documented order;
/// 2. the first on a GPU of which nothing was measured: nobody knows that the CPU is faster;
/// 3. the CPU, where it was measured faster.
///
/// Null where no GPU's was measured: the documented order then is all there is.
const Judged* fastest_of(const std::vector<Judged>& all);

/// Tells each accepted candidate that has no score so, `not-measured`, and each one on a GPU or a
/// software implementation that was measured slower than an accepted CPU: `slower-than-cpu` {score,
/// cpu_score}.
void mark_measured(std::vector<Judged>& all);

}  // namespace gpuprobe::inline policy
