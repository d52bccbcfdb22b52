// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds the facts that amdgpu exposes without waking the GPU: memory sizes, serial, product name,
/// partition modes. Under any driver, adds an AMD GPU's name from libdrm's table, data/amdgpu.ids.
///
/// The driver's memory managers keep mem_info_* up to date without hardware access
/// (drivers/gpu/drm/amd/amdgpu/amdgpu_{vram,gtt}_mgr.c). gpu_busy_percent, pp_dpm_* and the hwmon
/// sensors do access the hardware and are never read. The partition modes are read unless the GPU
/// is suspended.
///
/// `has_vddnb`: hwmon lists in1_input, the memory controller's voltage, which the driver exposes
/// only on APUs (hwmon_attributes_visible in amdgpu_pm.c); missing without hwmon. `has_board_info`:
/// a file that only discrete cards have. Listing names does not access the hardware.
void add_amdgpu_facts(const Sysfs& sysfs, HardwareDevice& device);

/// The current memory sizes; empty for a device with another driver.
std::vector<MemoryReading> amdgpu_memory(const Sysfs& sysfs, const HardwareDevice& device);

/// A serial of amdgpu or KFD as 16 hexadecimal digits; nullopt for 0, which means that the GPU has
/// no serial.
std::optional<std::string> amd_serial(std::uint64_t serial);

}  // namespace gpuprobe::inline inventory
