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

/// Adds the facts from driver-specific files of the device's driver: nodes, name, firmware, memory,
/// and whether the device is ready. data/knowledge/drivers.json lists the files.
void add_driver_files(const Sysfs& sysfs, const DeviceNodes& nodes, HardwareDevice& device);

/// Refreshes the power draw, power limit and temperature of an accelerator; does nothing for other
/// devices. The sensors of an accelerator that is suspended or not ready aren't read. If a file
/// cannot be read, no further files are read, because the drivers query the device's firmware,
/// which may not respond. Sources: Documentation/hwmon/sysfs-interface.rst;
/// data/knowledge/drivers.json.
void read_sensors(const FileSystem& files, HardwareDevice& device);

/// The reasons why a GPU's clocks are reduced, named as in the fact `slowdowns`. The function
/// reads the sysfs files of amdgpu, i915 and xe. The result is empty if the clocks aren't reduced,
/// and nullopt if the driver does not report reasons or if the device is suspended, because reading
/// the files would wake the device.
///
/// To read these files, the driver queries the hardware or, in the case of amdgpu, the firmware.
/// The query may take a millisecond, and hangs if the GPU hangs. Call this function only on
/// request, not in every scan.
std::optional<std::vector<std::string>> slowdowns_of(const FileSystem& files,
                                                     const HardwareDevice& device);

/// The folders of the GTs (render or media units) of an Intel GPU; in i915, these folders are below
/// the card's folder; in xe, they are below the folders of the tiles.
std::vector<std::string> intel_parts(const FileSystem& files, const std::string& device);

}  // namespace gpuprobe::inline inventory
