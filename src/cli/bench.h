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
    std::string kind = {};                 ///< the kind of device: "gpu", "software" or "cpu"
    std::optional<std::string> gpu = {};   ///< id of the GPU
    std::optional<std::string> name = {};  ///< name of the GPU, implementation or CPU
    std::string backend = {};              ///< the backend, or the API of a software implementation
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};
};
RECORD_MEMBERS(BenchRow, kind, gpu, name, backend, verification, measurement, score)

/// One row for each device and API that was, or should have been, verified or measured: first the
/// GPUs in the order of the report, then software implementations, then the CPU. `gpus` contains
/// the ids of the GPUs to include. If `gpus` is empty, all devices are included.
std::vector<BenchRow> bench_rows(const Report& report, const std::vector<std::string>& gpus);

/// The table that `bench` prints. For each row without figures or with a wrong result, a line below
/// the table gives the reason. This function is pure.
std::string bench_text(const std::vector<BenchRow>& rows, const Screen& screen);

/// One line about the results of verification and measurement, such as "verified; reads 4.19 TB/s
/// (85 % of the theoretical 4.92 TB/s), copies 3.9 TB/s, fp32 62.3 TFLOPS, int8 125 TOPS; score
/// 530". Rates are compared with the theoretical rates in `peak`; if `peak` has no rate, the line
/// contains "peak unknown". Returns "" if nothing was verified or measured.
std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const PeakRates& peak);

/// The section "Computed" of `status`: the device and backend with the highest score, the number of
/// other devices that computed correctly, and each device that did not compute correctly. Failures
/// with the same message share a line. Returns "" if nothing was verified or measured.
std::string measured_section(const Report& report, const Screen& screen);

}  // namespace gpuprobe::inline cli
