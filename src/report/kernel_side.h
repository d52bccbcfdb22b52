// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/join.h"
#include "report/report.h"

/// What a GPU is to the kernel: from sysfs, or from what APIs imply where it is hidden.
namespace gpuprobe::inline report {

/// The bound driver. A GPU without hardware has `nvidia` when NVML or CUDA lists it as a card of
/// its own (Jetsons use nvgpu), and `amdgpu` when HIP does; null on WSL, where neither is there.
/// The version of NVIDIA's is also NVML's word, or that of its Vulkan driver: both refuse to work
/// with a module of another version. (On WSL it is that of the driver for Windows.)
DriverInfo driver_of(const Subject& subject, const Host& host);

/// The nodes of sysfs; without it those that APIs name by number (DRM's, NVML's minor number),
/// whose accessibility nobody has looked at.
std::vector<DeviceNode> nodes_of(const Subject& subject, const Host& host);

}  // namespace gpuprobe::inline report
