// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

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

}  // namespace gpuprobe::inline cli
