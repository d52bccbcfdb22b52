// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/backend.h"
#include "backends/drm/drm_device.h"
#include "backends/drm/render_node.h"

namespace gpuprobe::backends {

/// What the kernel's own drivers say through render nodes: no library, less than a millisecond.
/// Nodes of sleeping devices are not opened.
Answer query_drm(const ProbeTarget& target, Sink& sink);

using OpenDrmDevice = std::function<Result<std::unique_ptr<DrmDevice>>(const RenderNode&)>;

/// The same on given files, with nodes opened by `open`.
Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink);

}  // namespace gpuprobe::backends
