// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Visits the devices of every type on the platforms of one OpenCL driver. Creates no context; only
/// opening a device creates one, for that device.
///
/// The environment must restrict the loader to that driver (OCL_ICD_VENDORS). Without a driver in
/// the target, only the loader is checked. The answer is Absent if there is no loader, no .icd
/// file, no platform, or no device.
Answer visit_opencl(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

constexpr unsigned kMaxOpenClPlatforms = 16;
constexpr unsigned kMaxOpenClDevices = 64;  ///< the limit for each platform

/// The text of kernels.cl, embedded at build time.
std::string_view opencl_kernels();

}  // namespace gpuprobe::backends
