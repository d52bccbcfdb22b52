// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Asks the platforms of one OpenCL driver about their devices of every type. Creates no context.
///
/// The environment must name that driver alone (OCL_ICD_VENDORS); without a driver in the target,
/// only the loader is looked at. Absent: no loader, no .icd file, no platform, or no device.
Answer query_opencl(const ProbeTarget& target, Sink& sink);
/// The later stages of one device, in a context with that device alone.
Answer verify_opencl(const ProbeTarget& target, Sink& sink);
Answer measure_opencl(const ProbeTarget& target, Sink& sink);

constexpr unsigned kMaxOpenClPlatforms = 16;
constexpr unsigned kMaxOpenClDevices = 64;  ///< a platform

}  // namespace gpuprobe::backends
