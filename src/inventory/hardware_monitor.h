// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"

namespace gpuprobe {

/// Something about GPUs changed in the kernel.
struct HardwareEvent {
    std::string action = {};     ///< "add", "remove", "bind", "unbind", "change" …
    std::string subsystem = {};  ///< "drm", "accel", "pci", "kfd", "module"
    std::string sysfs_path = {};
};

/// Listens to udev (and, where no udev runs, to the appearance of nodes in /dev) for events that
/// can change what a scan sees. Connector hot-plug ("change" of drm with HOTPLUG=1) is not such an
/// event.
class HardwareMonitor {
public:
    using Callback = std::function<void(const HardwareEvent&)>;
    virtual ~HardwareMonitor() = default;
    /// Errors: Unavailable, when neither udev nor inotify can be listened to.
    static Result<std::unique_ptr<HardwareMonitor>> create(EventLoop& loop, Callback changed);
};

}  // namespace gpuprobe
