// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/opencl/device_info.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// What one OpenCL device says about itself. docs/facts.md lists every key. Vendors' queries are
/// asked only where their extension is listed. `platform` is an object whose members are added.
DeviceFacts opencl_facts(const DeviceInfo& device, std::uint32_t index, const Value& platform);

/// The members platform_name, platform_vendor and platform_version.
Value platform_facts(const PlatformInfo& platform);

/// Source: OpenCL 3.0 API, CL_DEVICE_TYPE. A GPU is integrated when it shares the host's memory,
/// and of no known type when it does not say.
std::optional<DeviceType> opencl_device_type(std::optional<cl_device_type> type,
                                             std::optional<bool> shares_memory);

}  // namespace gpuprobe::backends
