// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/drm/facts.h"
#include "base/files.h"

namespace gpuprobe::backends {

/// Reports what the V4L2 codec with the node in `target.driver` decodes and encodes. The node is
/// not opened if that would wake a sleeping device.
Answer query_v4l2(const ProbeTarget& target, Sink& sink);

/// Whether a suspended device with this kernel driver stays suspended when its V4L2 node is opened.
bool opens_asleep(std::string_view driver);

/// Implements query_v4l2() for an opened node: adds the facts, and reports the device.
Answer ask_v4l2(const DrmDevice& node, DeviceFacts facts, Sink& sink);

}  // namespace gpuprobe::backends
