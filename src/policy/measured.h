// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/judge.h"

/// The order by what was measured (Judged::score; more is better).
namespace gpuprobe::inline policy {

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
