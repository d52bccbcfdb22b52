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

/// A render node or the node of a V4L2 codec, as described by sysfs. The node isn't opened.
struct RenderNode {
    std::string path = {};                  ///< path such as "/dev/dri/renderD128"
    std::string device_number = {};         ///< device number such as "226:128"
    std::string id = {};                    ///< id: "pci:0000:03:00.0", "platform:1040000.gpu"
    std::vector<std::string> folders = {};  ///< the sysfs folders of the device and its parents
    DrmNodes drm = {};
    std::optional<PciAddress> pci = {};
    std::optional<std::string> vendor_id = {};
    std::optional<std::string> device_id = {};
};

/// The render nodes in /sys/class/drm, sorted by name, at most 64. Source: Linux,
/// Documentation/gpu/drm-uapi.rst.
std::vector<RenderNode> render_nodes(const FileSystem& files);

/// The node at `path` ("/dev/dri/renderD128"), whose folder is in `class_folder`; nullopt if that
/// folder is incomplete. `drm` isn't set.
std::optional<RenderNode> node_in_sysfs(const FileSystem& files,
                                        const std::string& class_folder,
                                        const std::string& path);

/// The facts about a node that are known without opening it.
DeviceFacts facts_from_sysfs(const RenderNode& node, std::uint32_t index);

/// Whether opening or querying the node would wake the device, because runtime power management has
/// suspended the device or is about to suspend it. Call this function immediately before opening
/// the node. Source: Linux, Documentation/ABI/testing/sysfs-devices-power, runtime_status.
bool is_asleep(const FileSystem& files, const RenderNode& node);

/// Reports the facts that kernel drivers expose through render nodes. The function needs no library
/// and takes less than a millisecond. Nodes of sleeping devices aren't opened.
Answer query_drm(const ProbeTarget& target, Sink& sink);

/// Opens a character device, but only if its device number equals the number in sysfs ("226:128"),
/// because in a container, a different file may have this path. Errors: PermissionDenied or Io;
/// NotAuthorized if a device control group denies access; NotFound, also if the path is a different
/// file.
Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number);

/// Like open_drm_device(), but returns the descriptor, for libraries that need it.
Result<UniqueFd> open_node(const std::string& path, const std::string& device_number);

/// The reason to report for a node that could not be opened.
Reason not_opened(const RenderNode& node, const Error& problem);

using OpenDrmDevice = std::function<Result<std::unique_ptr<DrmDevice>>(const RenderNode&)>;

/// Implements query_drm() for the given file system; `open` opens the nodes.
Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink);

}  // namespace gpuprobe::backends
