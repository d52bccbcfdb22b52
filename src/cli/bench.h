// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::inline cli {

/// The results of test computations on one device through one API.
struct BenchRow {
    std::string kind = {};                 ///< "gpu", "software" or "cpu"
    std::optional<std::string> gpu = {};   ///< its id
    std::optional<std::string> name = {};  ///< of the GPU, implementation or CPU
    std::string backend = {};  ///< gpuprobe's name; for software implementations the API
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};
};
RECORD_MEMBERS(BenchRow, kind, gpu, name, backend, verification, measurement, score)

/// One row for each device and API that was, or should have been, verified or measured: GPUs in the
/// report's order, software implementations, the CPU. `gpus`: the ids of the wanted GPUs; if empty,
/// every device.
std::vector<BenchRow> bench_rows(const Report& report, const std::vector<std::string>& gpus);

/// The table of `bench`. Below it, a line with the reason for each row without figures or with a
/// wrong result. Pure.
std::string bench_text(const std::vector<BenchRow>& rows, const Screen& screen);

/// One line about verification and measurement: "verified; reads 4.19 TB/s (85 % of 4.92 T), copies
/// 3.9 TB/s, fp32 62.3 Top/s (93 % of 66.9 T), fp16 125 Top/s; score 530". Rates are compared with
/// the peak rates in `promise`; if it has none, the line contains "its peak is not known". "" if
/// nothing was tried.
std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const PeakRates& peak);

/// The section "Computed" of `status`: the device and backend with the highest score, the number of
/// others that computed correctly, and each one that did not. Failures with the same text share a
/// line. "" if nothing was tried.
std::string measured_section(const Report& report, const Screen& screen);

}  // namespace gpuprobe::inline cli
