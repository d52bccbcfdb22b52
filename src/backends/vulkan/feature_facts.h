// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/vulkan/device_reply.h"
#include "base/value.h"

namespace gpuprobe::backends {

/// Adds what shaders may use on the device: subgroups, number formats, cooperative matrices, and
/// WebGPU's verdict. Pure.
void add_features(const DeviceReply& reply, Value& extra);

}  // namespace gpuprobe::backends
