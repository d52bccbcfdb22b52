// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "explain/screen.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::inline cli {

/// One line about verification and measurement: "verified; reads 4.19 TB/s (85 % of 4.92 T), copies
/// 3.9 TB/s, fp32 62.3 Top/s (93 % of 66.9 T), fp16 125 Top/s; score 530". Rates are compared with
/// the peak rates in `promise`; if it has none, the line contains "its peak is not known". "" if
/// nothing was tried.
std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const Promise& promise);

/// The section "Computed" of `status`: the device and backend with the highest score, the number of
/// others that computed correctly, and each one that did not. Failures with the same text share a
/// line. "" if nothing was tried.
std::string measured_section(const Report& report, const Screen& screen);

}  // namespace gpuprobe::inline cli
