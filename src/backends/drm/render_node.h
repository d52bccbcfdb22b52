// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// A render node as sysfs shows it; nothing is opened.
struct RenderNode {
    std::string path = {};                  ///< "/dev/dri/renderD128"
    std::string device_number = {};         ///< "226:128"
    std::string id = {};                    ///< "pci:0000:03:00.0", "platform:1040000.gpu"
    std::vector<std::string> folders = {};  ///< of the device and of what it is part of, in sysfs
    DrmNodes drm = {};
    std::optional<PciAddress> pci = {};
    std::optional<std::string> vendor_id = {};
    std::optional<std::string> device_id = {};
};

/// Those of /sys/class/drm, by name, at most 64. Source: Linux, Documentation/gpu/drm-uapi.rst.
std::vector<RenderNode> render_nodes(const FileSystem& files);

/// Opening the node, or asking it, would wake the device: runtime power management has it down, or
/// on its way there. Read it right before. Source: Linux, Documentation/ABI/testing/
/// sysfs-devices-power, runtime_status.
bool is_asleep(const FileSystem& files, const RenderNode& node);

}  // namespace gpuprobe::backends
