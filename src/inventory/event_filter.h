// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe::inline inventory {

/// What a kernel event says about itself.
struct KernelEvent {
    std::string subsystem = {};
    std::string sysfs_path = {};
    std::string device_type = {};  ///< DEVTYPE: "drm_minor", "drm_connector" …
    std::string pci_class = {};    ///< PCI_CLASS as the kernel prints it: "30000"
    std::string pci_id = {};       ///< PCI_ID: "1E60:2864", vendor and device
    bool is_connector_change = false;
};

/// True when the event can change what a scan sees: a DRM or accel minor, a display, 3D,
/// co-processor or accelerator function, one that the table of chips names, KFD, or the module of a
/// driver in that table. Connectors that come,
/// go or are leased (HOTPLUG=1, LEASE=1: drivers/gpu/drm/drm_sysfs.c) do not.
bool concerns_gpus(const KernelEvent& event);

}  // namespace gpuprobe::inline inventory
