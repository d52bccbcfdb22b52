// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/compute/device.h"
#include "backends/vulkan/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// A physical device and the functions to query it. `vulkan` must outlive all objects that are
/// created from this PhysicalDevice.
struct PhysicalDevice {
    const InstanceSymbols& vulkan;
    VkPhysicalDevice device = VK_NULL_HANDLE;
};

/// Opens a device for computing: a logical device with one queue, without a surface. Refusals:
/// `no-compute-queue`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
