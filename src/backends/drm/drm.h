// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/drm/facts.h"
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

/// What the kernel's own drivers say through render nodes: no library, less than a millisecond.
/// Nodes of sleeping devices are not opened.
Answer query_drm(const ProbeTarget& target, Sink& sink);

/// Opens a character device, and only if it is the one that sysfs speaks of ("226:128"): a
/// container may have put something else there. Errors: PermissionDenied; NotFound, also when it is
/// something else; Io.
Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number);

using OpenDrmDevice = std::function<Result<std::unique_ptr<DrmDevice>>(const RenderNode&)>;

/// The same on given files, with nodes opened by `open`.
Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink);

}  // namespace gpuprobe::backends
