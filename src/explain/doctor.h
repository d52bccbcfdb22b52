// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "explain/finding.h"
#include "explain/surroundings.h"
#include "report/report.h"

/// Every known reason why a GPU is not used, as checks of a report.
namespace gpuprobe {

/// What is wrong, those of the machine first, then by GPU in the report's order; each as the list
/// of checks has them. Empty: nothing was found.
std::vector<Finding> examine(const Report& report, const Surroundings& surroundings);

/// The gravest of them; Ok without any.
Severity gravest(const std::vector<Finding>& findings);

}  // namespace gpuprobe
