// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds what the device's driver shows in files of its own: nodes, name, firmware, memory and
/// whether it is ready, as data/knowledge/drivers.json says where.
void add_driver_files(const Sysfs& sysfs, const DeviceNodes& nodes, HardwareDevice& device);

/// Brings up to date what an accelerator draws, may draw and how hot it is; of other devices
/// nothing is read. One that sleeps or is not ready is not asked, and after the first file that
/// can't be read no other is: drivers ask the device's firmware, which may not answer.
/// Sources: Documentation/hwmon/sysfs-interface.rst; data/knowledge/drivers.json.
void read_sensors(const FileSystem& files, HardwareDevice& device);

}  // namespace gpuprobe::inline inventory
