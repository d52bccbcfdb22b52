// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "base/event_loop.h"
#include "base/result.h"

namespace gpuprobe::inline inventory {

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
