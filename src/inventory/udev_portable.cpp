// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_watch.h"
#include "inventory/udev.h"

// The monitor for builds without libudev, which detects devices only by watching their nodes.

namespace gpuprobe::inline inventory {
namespace {

class Monitor final : public HardwareMonitor {
public:
    explicit Monitor(std::unique_ptr<NodeWatch> nodes) : nodes_{std::move(nodes)} {}

private:
    std::unique_ptr<NodeWatch> nodes_ = {};
};

}  // namespace

Result<std::unique_ptr<HardwareMonitor>> HardwareMonitor::create(EventLoop& loop,
                                                                 Callback changed) {
    auto nodes = TRY(NodeWatch::create(loop, "/dev", std::move(changed)));
    return std::unique_ptr<HardwareMonitor>{std::make_unique<Monitor>(std::move(nodes))};
}

/// The list is always empty, because the portable build has no libudev. The only caller is the
/// service, which isn't part of the portable build.
std::vector<RenderNode> render_nodes() {
    return {};
}

}  // namespace gpuprobe::inline inventory
