// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/bench_rows.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {

/// The table of `bench`, and below it a line for each row that has no figures or no right result,
/// with why. Pure.
std::string bench_text(const std::vector<BenchRow>& rows, const Screen& screen);

/// "verified", "miscomputed: 17 of 4096 words", "crashed" …; a dash where nobody asked.
std::string verification_words(const std::optional<Verification>& verification,
                               const Screen& screen);

/// The largest spread of a measurement's figures; nullopt where none is known.
std::optional<double> largest_spread(const Measurement& measurement);

}  // namespace gpuprobe::inline cli
