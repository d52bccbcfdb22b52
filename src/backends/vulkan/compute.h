// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/vulkan/logical_device.h"

namespace gpuprobe::backends {

/// A logical device with one queue of its first family that computes, without a surface.
/// Refusals: `no-compute-queue`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
