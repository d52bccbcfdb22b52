// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/result.h"
#include "inventory/hardware_monitor.h"

namespace gpuprobe::inline inventory {

/// Watches nodes come and go below /dev: NVIDIA's character devices have no class device and so no
/// udev event, and in a container there is no udevd at all.
///
/// Looks at the folder itself (nvidia*, dxg, kfd) and at its folders dri, accel and nvidia-caps,
/// also when they appear later. All changes that have arrived are told once.
class NodeWatch {
public:
    /// `folder` is "/dev" but in tests. Errors: Unavailable, when inotify can't be used.
    static Result<std::unique_ptr<NodeWatch>> create(EventLoop& loop,
                                                     std::string folder,
                                                     HardwareMonitor::Callback changed);
    ~NodeWatch();

    /// What inotify says of one name in a watched folder.
    struct Change {
        int watch = -1;
        std::uint32_t mask = 0;
        std::string name = {};
    };

    NodeWatch(const NodeWatch&) = delete;
    NodeWatch& operator=(const NodeWatch&) = delete;

private:
    NodeWatch(UniqueFd fd, std::string folder, HardwareMonitor::Callback changed);
    bool add(const std::string& folder);
    bool matters(const Change& change);
    void drain();

    UniqueFd fd_ = {};
    std::string folder_ = {};
    HardwareMonitor::Callback changed_ = {};
    std::map<int, std::string> folders_ = {};  ///< by inotify's watch descriptor
    EventHandle ready_ = {};
};

}  // namespace gpuprobe::inline inventory
