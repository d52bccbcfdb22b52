// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// "cuda on NVIDIA H200 (pci:0000:00:06.0)", the environment and the summary. `report` names the
/// GPUs; null leaves their ids. Pure.
std::string decision_text(const Decision& decision, const Report* report, const Screen& screen);

/// A line for each. Pure.
std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen);

/// "✓", "✗" or "?" in its colour; "+" and "-" on terminals without Unicode. Pure.
std::string verdict_sign(Verdict verdict, const Screen& screen);

/// Every candidate with a sentence, then what helps, with the warnings too. Pure.
/// `place` is this machine's, as far as it is known.
std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen);

/// "What helps" with a line for each fix; empty without any. Pure.
std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen);

/// What else the profile answers, and the consumer's own texts; empty without any. Pure.
std::string consumer_text(const Decision& decision, const Screen& screen);

}  // namespace gpuprobe::inline cli
