// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/bench_rows.h"

namespace gpuprobe::inline cli {

/// The rows that were measured as bars: one panel for the memory's bandwidth, one for the rate of
/// arithmetic, each with a bar a row and figure, on a scale of its own, and its unit. An SVG 1.1
/// document that needs no script and no font, and is dark where the reader's pages are. Names are
/// escaped, control characters replaced. Pure.
std::string bench_plot(const std::vector<BenchRow>& rows);

}  // namespace gpuprobe::inline cli
