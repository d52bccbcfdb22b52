// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe {

/// Adds the platform GPUs that have no DRM node: Tegra's integrated GPU under the vendor's driver,
/// which registers as "gk20a" on every generation (NVIDIA linux-nvgpu, os/linux/module.c).
void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe
