// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/bench_text.h"

namespace gpuprobe::inline cli {

/// The rows that were measured as bars: one panel for the memory's bandwidth, one for the rate of
/// arithmetic, each on a scale of its own with an axis, and a dashed line at what the driver
/// promises. Above them which machine it is, its driver and kernel, and when it was measured. Equal
/// GPUs stand together, a thin bar each, and one that is far slower than they are is named. An SVG
/// 1.1 document that needs no script and no font, and is dark where the reader's pages are. Names
/// are escaped, control characters replaced. Pure.
std::string bench_plot(const Report& report, const std::vector<BenchRow>& rows);

}  // namespace gpuprobe::inline cli
