// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// The screen of `status`: the headline, GPUs, results of verification and measurement, obstacles
/// with their reasons, software implementations, accelerators, problems, hints. `choice` is the
/// decision for the default application; null if the decision is unknown. `findings` are the
/// doctor's findings for the same report. GPUs of the same kind share a row, unless `shows_all` is
/// set. This function is pure.
std::string status_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Decision* choice,
                        const Screen& screen,
                        bool shows_all = false);

}  // namespace gpuprobe::inline cli
