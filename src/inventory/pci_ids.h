// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace gpuprobe::inline inventory {

class DeviceFolder;

/// The PCI ids of a function, each four lower-case hexadecimal digits.
struct PciIds {
    std::optional<std::string> vendor = {};
    std::optional<std::string> device = {};
    std::optional<std::string> subsystem_vendor = {};
    std::optional<std::string> subsystem_device = {};
    bool operator==(const PciIds&) const = default;
};

/// The ids of a function. Each comes from the file `vendor`, `device`, `subsystem_vendor` or
/// `subsystem_device`; else from PCI_ID and PCI_SUBSYS_ID of the uevent; else from the modalias. A
/// subsystem vendor of 0000 is treated as missing: it means that the function has no subsystem ids
/// (PCI Local Bus specification 3.0, section 6.2.4).
PciIds pci_ids_of(const DeviceFolder& folder);

/// The ids in a modalias such as "pci:v00001002d000015BFsv000017AAsd000050DAbc03sc00i00". Source:
/// drivers/pci/pci-sysfs.c, modalias_show().
PciIds ids_from_modalias(std::string_view modalias);
/// Class, subclass and programming interface in a modalias, as six digits.
std::optional<std::string> class_from_modalias(std::string_view modalias);

/// The size of the largest prefetchable 64-bit memory BAR in a `resource` file: the window through
/// which the CPU accesses VRAM. The BAR's index differs between boards, so it can't be used to find
/// it.
///
/// Only the first six lines are BARs of the function; ROM, SR-IOV and bridge windows follow.
/// Source: drivers/pci/pci-sysfs.c, resource_show(); include/linux/ioport.h for the flags.
std::optional<Bytes> largest_aperture(std::string_view resource);

}  // namespace gpuprobe::inline inventory
