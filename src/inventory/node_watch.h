// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/result.h"
#include "inventory/hardware_monitor.h"

namespace gpuprobe {

/// Watches nodes come and go below /dev: NVIDIA's character devices have no class device and so no
/// udev event, and in a container there is no udevd at all.
///
/// Looks at the folder itself (nvidia*, dxg, kfd) and at its folders dri, accel and nvidia-caps,
/// also when they appear later. Its events have the subsystem "node" and the node's path for
/// sysfs_path.
class NodeWatch {
public:
    /// `folder` is "/dev" but in tests. Errors: Unavailable, when inotify can't be used.
    static Result<std::unique_ptr<NodeWatch>> create(EventLoop& loop,
                                                     std::string folder,
                                                     HardwareMonitor::Callback changed);
    ~NodeWatch();
    NodeWatch(const NodeWatch&) = delete;
    NodeWatch& operator=(const NodeWatch&) = delete;

private:
    NodeWatch(UniqueFd fd, std::string folder, HardwareMonitor::Callback changed);
    bool add(const std::string& folder);
    void drain();

    UniqueFd fd_ = {};
    std::string folder_ = {};
    HardwareMonitor::Callback changed_ = {};
    std::map<int, std::string> folders_ = {};  ///< by inotify's watch descriptor
    EventHandle ready_ = {};
};

}  // namespace gpuprobe
