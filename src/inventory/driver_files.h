// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds what the device's driver shows in files of its own: nodes, name, firmware, memory and
/// whether it is ready, as data/knowledge/drivers.json says where.
void add_driver_files(const Sysfs& sysfs, const DeviceNodes& nodes, HardwareDevice& device);

}  // namespace gpuprobe::inline inventory
