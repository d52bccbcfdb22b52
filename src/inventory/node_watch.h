// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/result.h"
#include "inventory/udev.h"

namespace gpuprobe::inline inventory {

/// Watches for nodes that appear or disappear below /dev. NVIDIA's character devices have no class
/// device and therefore no udev event, and a container has no udevd.
///
/// Watches the folder /dev (nvidia*, dxg, kfd) and its subfolders dri, accel and nvidia-caps, which
/// may be created later. Several pending changes cause only one callback.
class NodeWatch {
public:
    /// Starts to watch. `folder` is "/dev" except in tests. Errors: Unavailable if inotify does not
    /// work.
    static Result<std::unique_ptr<NodeWatch>> create(EventLoop& loop,
                                                     std::string folder,
                                                     HardwareMonitor::Callback changed);
    ~NodeWatch();

    /// An inotify event, which reports a change of one name in a watched folder.
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
    std::map<int, std::string> folders_ = {};  ///< watched folders, by inotify's watch descriptor
    EventHandle ready_ = {};
};

}  // namespace gpuprobe::inline inventory
