// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// "cuda on NVIDIA H200 (pci:0000:00:06.0)", the environment and the summary. `report` is used for
/// the names of GPUs; without it (null) their ids are printed. Pure.
std::string decision_text(const Decision& decision, const Report* report, const Screen& screen);

/// One line for each warning. Pure.
std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen);

/// "✓", "✗" or "?" in its color; "+", "-" or "?" on terminals without Unicode. Pure.
std::string verdict_sign(Verdict verdict, const Screen& screen);

/// Every candidate with a sentence, then the fixes for the candidates and the warnings. `place`
/// describes this machine as far as it is known. Pure.
std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen);

/// The section "What helps" with a line for each fix; "" without fixes. Pure.
std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen);

/// The profile's further answers and the application's own messages; "" without either. Pure.
std::string consumer_text(const Decision& decision, const Screen& screen);

}  // namespace gpuprobe::inline cli
