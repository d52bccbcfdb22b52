// SPDX-License-Identifier: Apache-2.0
#include "inventory/device_nodes.h"

#include <array>

namespace gpuprobe::inline inventory {
namespace {

constexpr std::array<const char*, 5> kSharedNodes{"/dev/kfd", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                                  "/dev/nvidia-modeset", "/dev/dxg"};

bool lists_any(const NodeSource& source) {
    for (const auto* folder : {"/dev", "/dev/dri", "/dev/accel"})
        if (!source.list(folder).empty())
            return true;
    return false;
}

}  // namespace

DeviceNodes::DeviceNodes(const NodeSource& source) : source_{source}, known_{lists_any(source)} {}

std::optional<DeviceNode> DeviceNodes::find(std::string_view path) const {
    return source_.find(path);
}

DeviceNode DeviceNodes::at(const std::string& path) const {
    if (auto found = source_.find(path))
        return std::move(*found);
    DeviceNode node;
    node.path = path;
    if (known_) {
        node.accessible = false;
        node.reason = "missing";
    }
    return node;
}

std::vector<DeviceNode> DeviceNodes::shared() const {
    std::vector<DeviceNode> found;
    for (const auto* path : kSharedNodes)
        if (auto node = source_.find(path))
            found.push_back(std::move(*node));
    return found;
}

}  // namespace gpuprobe::inline inventory
