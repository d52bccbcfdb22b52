// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds the platform GPUs and accelerators that have no DRM node and whose driver is in the table
/// of chips: Arm's and Qualcomm's proprietary drivers (mali, kgsl-3d), Rockchip's NPU, and Tegra's
/// integrated GPU with NVIDIA's driver, which registers as "gk20a" on every generation (NVIDIA
/// linux-nvgpu, os/linux/module.c).
///
/// On some SoCs the DRM device is only the display controller, and the GPU is a component of it.
/// The compatible strings of the component are then appended to the DRM device's: Qualcomm's
/// display controller owns the render node of its Adreno (drivers/gpu/drm/msm/msm_drv.c).
void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe::inline inventory
