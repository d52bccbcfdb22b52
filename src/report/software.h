// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The implementations on the CPU, in the order of their probes. If the device is named after the
/// processor, the name includes the implementation: "pocl (pthread-…)" or "Intel OpenCL (…)".
/// llvmpipe and SwiftShader include it themselves. `device` keeps the driver's own name. Trials are
/// in `probes`.
std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices,
                                        const std::vector<const ProbeResult*>& probes);

}  // namespace gpuprobe::inline report
