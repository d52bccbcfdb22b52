// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// Implementations on the CPU, in the order of their probes. The name says which one it is, so
/// "pocl (pthread-…)" and "Intel OpenCL (…)" where the device is named after the processor;
/// llvmpipe and SwiftShader name themselves. `device` keeps the driver's own. What they computed is
/// in `probes`.
std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices,
                                        const std::vector<const ProbeResult*>& probes);

}  // namespace gpuprobe::inline report
