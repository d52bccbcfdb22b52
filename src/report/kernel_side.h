// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/join.h"
#include "report/report.h"

/// Kernel driver and device nodes of a GPU: from sysfs, or implied by APIs if sysfs is hidden.
namespace gpuprobe::inline report {

/// The bound driver. A GPU without hardware gets `nvidia` if NVML or CUDA lists it as a discrete
/// GPU (Jetsons use nvgpu), and `amdgpu` if HIP lists it; null on WSL, which has neither. The
/// version of NVIDIA's driver may also come from NVML or from its Vulkan driver, because both
/// refuse to work with a module of another version. (On WSL it is the version of the Windows
/// driver.)
DriverInfo driver_of(const Subject& subject, const Host& host);

/// The device nodes from sysfs. Without sysfs, the nodes that APIs report by number (DRM's numbers,
/// NVML's minor number); their accessibility is unknown.
std::vector<DeviceNode> nodes_of(const Subject& subject, const Host& host);

}  // namespace gpuprobe::inline report
