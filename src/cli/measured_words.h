// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "explain/screen.h"
#include "report/promise.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// "verified; reads 4.19 TB/s (85 % of what its clocks promise), copies 3.9 TB/s, fp32 62.3 Top/s
/// (93
/// %), fp16 125 Top/s; score 530": what was found, and where the API tells enough how that compares
/// with what it promises ("promise n/a" where it does not). "" where nothing was tried.
std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const Promise& promise);

/// The section of `status`: the device and backend with the highest score, how many others computed
/// right, and each that did not, those of which the same is said in one line. "" where nothing was
/// tried.
std::string measured_section(const Report& report, const Screen& screen);

}  // namespace gpuprobe::inline cli
