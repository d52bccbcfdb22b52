// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Visits the devices of every type on the platforms of one OpenCL driver. Does not create a
/// context; a context is created only when a device is opened.
///
/// The environment must restrict the loader to the target's driver (OCL_ICD_VENDORS). If the target
/// has no driver, only the loader is checked. The answer is Absent if there is no loader, no .icd
/// file, no platform, or no device.
Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

constexpr unsigned kMaxOpenClPlatforms = 16;
constexpr unsigned kMaxOpenClDevices = 64;  ///< the limit for each platform

/// The text of kernels.cl, embedded at build time.
std::string_view opencl_kernels();

}  // namespace gpuprobe::backends
