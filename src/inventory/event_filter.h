// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe {

/// What a kernel event says about itself.
struct KernelEvent {
    std::string subsystem = {};
    std::string sysfs_path = {};
    std::string device_type = {};  ///< DEVTYPE: "drm_minor", "drm_connector" …
    std::string pci_class = {};    ///< PCI_CLASS as the kernel prints it: "30000"
    bool is_connector_change = false;
};

/// True when the event can change what a scan sees: a DRM or accel minor, a display, 3D,
/// co-processor or accelerator function, KFD, or the module of a GPU driver. Connectors that come,
/// go or are leased (HOTPLUG=1, LEASE=1: drivers/gpu/drm/drm_sysfs.c) do not.
bool concerns_gpus(const KernelEvent& event);

}  // namespace gpuprobe
