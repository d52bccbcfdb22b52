// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// True for classes of which a function may be a GPU, a display or an accelerator: 03xx, 0001
/// (displays older than the class code), 0b40 and 12xx without 1201 (SDXI, a data mover).
/// `pci_class` is at least class and subclass in hexadecimal digits.
/// Source: include/linux/pci_ids.h.
bool is_candidate_class(std::string_view pci_class);

/// Whether the table of chips names the device, whatever its class: some accelerators are system
/// peripherals, signal processors or communication controllers. Ids are hexadecimal digits.
bool is_known_device(std::string_view vendor, std::string_view device);

/// The functions below /sys/bus/pci/devices of such a class, those of a device that the table
/// knows, and those in `claimed` (resolved
/// folders that a DRM or accel node points to) of any class.
///
/// The second function that old integrated graphics show beside the display ("other display", 0380,
/// function above 0 of a slot whose function 0 is a display) is no device of its own. A virtual
/// function (physfn) or one with DRM nodes is not taken for that.
std::vector<HardwareDevice> pci_functions(const Sysfs& sysfs, const std::set<std::string>& claimed);

}  // namespace gpuprobe::inline inventory
