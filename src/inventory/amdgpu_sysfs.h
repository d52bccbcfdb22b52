// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// What amdgpu says without waking the GPU: memory sizes, serial, product name, partition mode; and
/// under any driver the name of an AMD GPU in libdrm's table, data/amdgpu.ids.
///
/// mem_info_* are kept by the driver's memory managers and need no hardware access
/// (drivers/gpu/drm/amd/amdgpu/amdgpu_{vram,gtt}_mgr.c); gpu_busy_percent, pp_dpm_* and hwmon do,
/// and are never read. The partition modes are only read while the GPU is not suspended.
///
/// `has_vddnb`: hwmon lists in1_input, the voltage of a processor's memory controller, which the
/// driver shows on APUs alone (hwmon_attributes_visible in amdgpu_pm.c); missing without hwmon.
/// `has_board_info`: a file that cards alone have. Listing names reaches no hardware.
void add_amdgpu_facts(const Sysfs& sysfs, HardwareDevice& device);

/// The memory sizes alone, as they are at this moment; none for another driver's device.
std::vector<MemoryReading> amdgpu_memory(const Sysfs& sysfs, const HardwareDevice& device);

/// amdgpu's and KFD's serial as 16 hexadecimal digits; nullopt for none (0) and for anything else.
std::optional<std::string> amd_serial(std::uint64_t serial);

}  // namespace gpuprobe::inline inventory
