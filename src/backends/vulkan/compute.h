// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backends/compute/device.h"
#include "backends/vulkan/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// One physical device of an instance, and what asks it, which must outlive what is made of it.
struct PhysicalDevice {
    const InstanceSymbols& vulkan;
    VkPhysicalDevice device = VK_NULL_HANDLE;
};

/// A VkDevice with the features that the kernels want and the device has, and one queue.
struct LogicalDevice {
    DeviceSymbols vulkan;
    Owned<VkDevice> device = {};
    std::uint32_t queue_family = 0;
};

/// On the first family of queues that computes. Refusals: `no-compute-queue`; what vkCreateDevice
/// says.
Attempt<LogicalDevice> make_logical_device(const PhysicalDevice& device, const DeviceFacts& facts);

/// What a result that is no success means. Source: Vulkan 1.3 specification, "Return Codes".
Refusal vulkan_refusal(std::string_view function, VkResult result);

/// A logical device with one queue of its first family that computes, without a surface.
/// Refusals: `no-compute-queue`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
