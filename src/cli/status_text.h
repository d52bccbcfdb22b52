// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// The screen of `status`: headline, GPUs, what was verified and measured, what does not work and
/// why, software implementations, accelerators, problems, hints. `choice` is what the default
/// consumer gets; null when nobody said. `findings` are the doctor's of the same report. Pure.
std::string status_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Decision* choice,
                        const Screen& screen);

}  // namespace gpuprobe::inline cli
