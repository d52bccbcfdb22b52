// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// What was computed on one device through one API.
struct BenchRow {
    std::string kind = {};                 ///< "gpu", "software" or "cpu"
    std::optional<std::string> gpu = {};   ///< its id
    std::optional<std::string> name = {};  ///< of GPU, implementation or processor
    std::string backend = {};              ///< by our name; of software the API
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};
};
RECORD_MEMBERS(BenchRow, kind, gpu, name, backend, verification, measurement, score)

/// Every device that was verified or measured, or was to be: GPUs in the report's order, software
/// implementations, the processor. `gpus`: only these; none: all.
std::vector<BenchRow> bench_rows(const Report& report, const std::vector<std::string>& gpus);

/// The table of `bench`, and below it a line for each row that has no figures or no right result,
/// with why. Pure.
std::string bench_text(const std::vector<BenchRow>& rows, const Screen& screen);

/// "verified", "miscomputed: 17 of 4096 words", "crashed" …; a dash where nobody asked.
std::string verification_words(const std::optional<Verification>& verification,
                               const Screen& screen);

/// The largest spread of a measurement's figures; nullopt where none is known.
std::optional<double> largest_spread(const Measurement& measurement);

}  // namespace gpuprobe::inline cli
