// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace gpuprobe::inline inventory
