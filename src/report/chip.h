// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/chips.h"
#include "report/machine.h"

/// Lookups of a device in the chip table (knowledge/chips.h). They return nullptr if no row
/// matches.
namespace gpuprobe::inline report {

/// The row for the device's PCI ids, or for its device tree `compatible` words.
const knowledge::Chip* chip_of(const HardwareDevice& device);

/// The row for the bound kernel driver, or for the driver that created the device.
const knowledge::Chip* driver_row_of(const HardwareDevice& device);

}  // namespace gpuprobe::inline report
