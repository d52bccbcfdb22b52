// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "backends/drm/facts.h"
#include "backends/drm/render_node.h"

namespace gpuprobe::backends {

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
