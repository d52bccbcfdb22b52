// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe::inline inventory {

class DeviceFolder;

/// Four lower-case hexadecimal digits each.
struct PciIds {
    std::optional<std::string> vendor = {};
    std::optional<std::string> device = {};
    std::optional<std::string> subsystem_vendor = {};
    std::optional<std::string> subsystem_device = {};
    bool operator==(const PciIds&) const = default;
};

/// From the files `vendor`, `device`, `subsystem_vendor`, `subsystem_device`; then PCI_ID and
/// PCI_SUBSYS_ID of the uevent; then the modalias. A subsystem of vendor 0000 is none
/// (PCI Local Bus specification 3.0, section 6.2.4: 0 means that the function has no such ids).
PciIds pci_ids_of(const DeviceFolder& folder);

/// "pci:v00001002d000015BFsv000017AAsd000050DAbc03sc00i00".
/// Source: drivers/pci/pci-sysfs.c, modalias_show().
PciIds ids_from_modalias(std::string_view modalias);
/// Class, subclass and interface as six digits.
std::optional<std::string> class_from_modalias(std::string_view modalias);

/// The size of the largest prefetchable 64-bit memory BAR in a `resource` file: the window through
/// which the CPU sees VRAM. Its index differs between boards, so it is never taken by index.
///
/// Only the first six lines are BARs of the function; ROM, SR-IOV and bridge windows follow.
/// Source: drivers/pci/pci-sysfs.c, resource_show(); include/linux/ioport.h for the flags.
std::optional<Bytes> largest_aperture(std::string_view resource);

}  // namespace gpuprobe::inline inventory
