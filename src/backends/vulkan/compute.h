// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/compute/device.h"
#include "backends/vulkan/instance.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// One physical device of an instance, and what asks it. All must outlive the device that is
/// opened.
struct PhysicalDevice {
    const LoaderSymbols& loader;
    const InstanceSymbols& vulkan;
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice device = VK_NULL_HANDLE;
};

/// A logical device with one queue of its first family that computes, without a surface.
/// Refusals: `no-compute-queue`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
