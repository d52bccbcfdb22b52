// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"

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

/// Listens to udev, and to nodes that come and go below /dev (NVIDIA's have no udev event, and a
/// container has no udevd), for events that can change what a scan sees. Connector hot-plug
/// ("change" of drm with HOTPLUG=1) is not such an event.
///
/// All events that have arrived are taken in one wake-up, before any bus call is answered, and are
/// told once: whoever listens looks at the whole machine again. The callback may destroy the
/// monitor.
class HardwareMonitor {
public:
    using Callback = std::function<void()>;
    virtual ~HardwareMonitor() = default;
    /// Errors: Unavailable, when neither udev nor inotify can be listened to.
    static Result<std::unique_ptr<HardwareMonitor>> create(EventLoop& loop, Callback changed);
};

}  // namespace gpuprobe::inline inventory
