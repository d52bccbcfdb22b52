// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Reports the display and accelerator functions that libpci finds: names, ids, BAR sizes.
///
/// Reads only sysfs and the id database. The function does not read the configuration space, which
/// would wake sleeping devices, and does not use the network or a cache file. If the database is
/// missing or broken, only the names are missing. The answer is Absent if this machine has no PCI
/// bus. The answer is Failed, with libpci's message as the note, if libpci gave up.
Answer query_pci(const ProbeTarget& target, Sink& sink);

/// The files that libpci reads.
struct PciSources {
    std::string sysfs = "/sys/bus/pci";
    std::string id_database = {};  ///< the path of a pci.ids file; "" for libpci's default
};
/// Like query_pci(), but libpci reads the files in `sources`.
Answer query_pci_at(const PciSources& sources, Sink& sink);

/// Whether a class (base class and subclass) can be a GPU, a display or an accelerator: 03xx
/// displays, 0b40 co-processors, 12xx processing accelerators, 1180 signal processors (some NPUs).
/// Source: PCI Code and ID Assignment Specification 1.15.
bool is_gpu_class(std::uint16_t pci_class);

constexpr std::size_t kMaxPciDevices = 256;

}  // namespace gpuprobe::backends
