// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/judge.h"
#include "policy/select.h"
#include "policy/select_question.h"

/// The first half of a selection: each candidate is judged, then they are compared.
/// policy/select.cpp turns the choice into variables and answers.
namespace gpuprobe::inline policy {

/// Every candidate with its final verdict.
struct Attempt {
    std::vector<Judged> all = {};            ///< in order of preference
    std::vector<std::string> detected = {};  ///< the application's names
    bool was_given_up = false;               ///< the requested backend isn't available

    /// The choice: the fastest candidate if measurements count, otherwise the first accepted
    /// candidate that isn't outdone on its GPU, otherwise the CPU. Null if none exists.
    [[nodiscard]] const Judged* best(const SelectQuestion& question) const;
};

/// Attempts the request. If it can't be met and the profile permits, attempts it again without the
/// requested backend, unless it is strict.
Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report);

/// Whether another accepted backend on the same GPU takes precedence by the profile's order for the
/// GPU's vendor.
bool is_outdone(const SelectQuestion& question,
                const std::vector<Judged>& all,
                const Judged& judged);

// Order by measurement (Judged::score; higher is better).

/// Scores within this fraction of the better one count as equal, because repeated runs differ by as
/// much.
constexpr double kSameSpeed = 0.05;

/// The best of the accepted candidates by measurement:
///
/// 1. the fastest measured GPU candidate, unless the CPU is faster; among equally fast ones, the
///    first in the documented order;
/// 2. the first candidate on an unmeasured GPU, because the CPU may not be faster than that GPU;
/// 3. the CPU if it was measured as faster.
///
/// Null if no GPU candidate was measured; the documented order applies then.
const Judged* fastest_of(const std::vector<Judged>& all);

/// Adds `not-measured` to each accepted candidate without a score, and `slower-than-cpu` {score,
/// cpu_score} to each candidate on a GPU or software device that was measured slower than an
/// accepted CPU.
void mark_measured(std::vector<Judged>& all);

}  // namespace gpuprobe::inline policy
