// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backends/compute/device.h"
#include "backends/vulkan/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// A physical device and the functions to query it. `vulkan` must outlive everything created from
/// it.
struct PhysicalDevice {
    const InstanceSymbols& vulkan;
    VkPhysicalDevice device = VK_NULL_HANDLE;
};

/// A VkDevice with one queue and those features of the kernels that the device supports.
struct LogicalDevice {
    DeviceSymbols vulkan;
    Owned<VkDevice> device = {};
    std::uint32_t queue_family = 0;
};

/// Creates a logical device with a queue of the first queue family that can compute. Refusals:
/// `no-compute-queue`; any error of vkCreateDevice.
Attempt<LogicalDevice> make_logical_device(const PhysicalDevice& device, const DeviceFacts& facts);

/// The refusal for a function that failed with `result`. Source: Vulkan 1.3 specification, "Return
/// Codes".
Refusal vulkan_refusal(std::string_view function, VkResult result);

/// Opens a device for computing: a logical device with one queue, without a surface. Refusals:
/// `no-compute-queue`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
