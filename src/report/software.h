// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe {

/// Implementations on the CPU, in the order of their probes.
std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices);

}  // namespace gpuprobe
