// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/chips.h"
#include "report/machine.h"

/// What the table of chips (knowledge/chips.h) says of a device. nullptr: nothing.
namespace gpuprobe::inline report {

/// By its PCI ids, or the device tree's words.
const knowledge::Chip* chip_of(const HardwareDevice& device);

/// By the bound kernel driver, or the one that made the device.
const knowledge::Chip* driver_row_of(const HardwareDevice& device);

}  // namespace gpuprobe::inline report
