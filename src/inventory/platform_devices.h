// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds the platform GPUs and accelerators that have no DRM node, by the drivers that the table of
/// chips knows: Arm's and Qualcomm's own drivers (mali, kgsl-3d), Rockchip's NPU, and Tegra's
/// integrated GPU under the vendor's driver, which registers as "gk20a" on every generation (NVIDIA
/// linux-nvgpu, os/linux/module.c).
///
/// A DRM device that only shows pictures, and whose maker's GPU is a component of it, gets the
/// compatible strings of that component after its own: Qualcomm's display controller has the render
/// node of its Adreno (drivers/gpu/drm/msm/msm_drv.c).
void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe::inline inventory
