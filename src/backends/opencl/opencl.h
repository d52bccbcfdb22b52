// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Asks the platforms of one OpenCL driver about their devices of every type. Creates no context;
/// what opens a device makes one with that device alone.
///
/// The environment must name that driver alone (OCL_ICD_VENDORS); without a driver in the target,
/// only the loader is looked at. Absent: no loader, no .icd file, no platform, or no device.
Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

constexpr unsigned kMaxOpenClPlatforms = 16;
constexpr unsigned kMaxOpenClDevices = 64;  ///< a platform

}  // namespace gpuprobe::backends
