// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds the facts that the device's driver exposes in driver-specific files: nodes, name, firmware,
/// memory, and whether the device is ready. data/knowledge/drivers.json lists the files.
void add_driver_files(const Sysfs& sysfs, const DeviceNodes& nodes, HardwareDevice& device);

/// Refreshes the power draw, power limit and temperature of an accelerator; reads nothing for other
/// devices. An accelerator that is suspended or not ready is not read. After the first file that
/// can't be read, no further file is tried: the drivers query the device's firmware, which may not
/// respond. Sources: Documentation/hwmon/sysfs-interface.rst; data/knowledge/drivers.json.
void read_sensors(const FileSystem& files, HardwareDevice& device);

/// The reasons why a GPU's clocks are reduced, from the sysfs files of amdgpu, i915 and xe, in the
/// words of the fact `slowdowns`. Empty if the clocks are not reduced. nullopt if the driver does
/// not report reasons, and for a suspended device, because reading would wake it.
///
/// The driver queries the hardware (amdgpu: the firmware), which may take a millisecond and hang
/// with the GPU. Call this function only on request, not in every scan.
std::optional<std::vector<std::string>> slowdowns_of(const FileSystem& files,
                                                     const HardwareDevice& device);

/// The folders of the GTs (render or media units) of an Intel GPU: i915 has these folders below its
/// card, xe below its tiles.
std::vector<std::string> intel_parts(const FileSystem& files, const std::string& device);

}  // namespace gpuprobe::inline inventory
