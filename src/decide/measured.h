// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "decide/judge.h"

/// The order by what was measured (BackendView::score; more is better).
namespace gpuprobe {

/// Scores this near to each other, as a part of the better one, are equal: a second run moves them
/// as much.
constexpr double kSameSpeed = 0.05;

/// The accepted candidate that was measured fastest; of those as fast as it, the first in the
/// documented order. Null when none was measured.
const Judged* fastest_of(const std::vector<Judged>& all);

/// Tells each accepted candidate that has no score so: `not-measured`.
void mark_not_measured(std::vector<Judged>& all);

}  // namespace gpuprobe
