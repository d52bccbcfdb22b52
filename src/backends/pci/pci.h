// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What libpci knows about display and accelerator functions: names, ids, BAR sizes.
///
/// Reads sysfs and the id database only: no configuration space (it wakes sleeping devices), no
/// network, no cache file. A missing or broken database costs the names, never the devices.
/// Absent: no PCI on this machine. Failed: libpci gave up, in its own words.
Answer query_pci(const ProbeTarget& target, Sink& sink);

struct PciSources {
    std::string sysfs = "/sys/bus/pci";
    std::string id_database = {};  ///< path of a pci.ids; "" for the one libpci was built with
};
/// The same from elsewhere.
Answer query_pci_at(const PciSources& sources, Sink& sink);

/// Whether a class (base class and subclass) may be a GPU, a display or an accelerator: 03xx
/// displays, 0b40 co-processors, 12xx processing accelerators, 1180 signal processors (some NPUs).
/// Source: PCI Code and ID Assignment Specification 1.15.
bool is_gpu_class(std::uint16_t pci_class);

constexpr std::size_t kMaxPciDevices = 256;

}  // namespace gpuprobe::backends
