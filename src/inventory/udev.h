// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"

namespace gpuprobe::inline inventory {

/// The properties of a kernel event.
struct KernelEvent {
    std::string subsystem = {};
    std::string sysfs_path = {};
    std::string device_type = {};  ///< the value of DEVTYPE, such as "drm_minor"
    std::string pci_class = {};    ///< the value of PCI_CLASS, such as "30000"
    std::string pci_id = {};       ///< the value of PCI_ID, such as "1E60:2864"
    bool is_connector_change = false;
};

/// True if the event can change the result of a scan: the event is about a DRM or accel minor; a
/// display, 3D, co-processor or accelerator function, or a function in the table of chips; KFD; a
/// V4L2 device that isn't on USB; or the module of a driver in the table of chips. False for
/// connectors that are plugged, unplugged or leased (HOTPLUG=1, LEASE=1:
/// drivers/gpu/drm/drm_sysfs.c).
bool concerns_gpus(const KernelEvent& event);

/// Listens for events that can change the result of a scan: udev events, and nodes that appear or
/// disappear below /dev, because NVIDIA's nodes have no udev event, and a container has no udevd. A
/// connector's hot-plug ("change" of drm with HOTPLUG=1) is ignored.
///
/// All pending events are handled in one wake-up, before any bus call is answered, and cause only
/// one callback, because the listener scans the whole machine again anyway. The callback may
/// destroy the monitor.
class HardwareMonitor {
public:
    using Callback = std::function<void()>;
    virtual ~HardwareMonitor() = default;
    /// Starts to listen. Errors: Unavailable if neither udev nor inotify works.
    static Result<std::unique_ptr<HardwareMonitor>> create(EventLoop& loop, Callback changed);
};

/// A DRM render node, with the properties that udev stores for the node.
struct RenderNode {
    std::string path = {};      ///< path of the node, such as "/dev/dri/renderD128"
    std::string path_tag = {};  ///< ID_PATH_TAG, such as "pci-0000_01_00_0"; "" if unknown
    std::string driver = {};    ///< the device's driver
    /// The names of vendor and model, from switcheroo-control's hardware database or, if a name is
    /// missing there, from pci.ids.
    std::optional<std::string> vendor = {};
    std::optional<std::string> model = {};
    bool is_boot_display = false;  ///< whether the firmware uses this device as the display
};

/// The render nodes of this machine, in the order of their sysfs paths; empty if udevd does not
/// run.
std::vector<RenderNode> render_nodes();

}  // namespace gpuprobe::inline inventory
