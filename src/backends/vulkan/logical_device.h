// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/vulkan/compute.h"
#include "backends/vulkan/compute_api.h"

namespace gpuprobe::backends {

/// A VkDevice with the features that the kernels want and the device has; destroyed with this.
class LogicalDevice {
public:
    /// Refusals: `no-compute-queue`; what vkCreateDevice says.
    static Attempt<LogicalDevice> create(const PhysicalDevice& device, const DeviceFacts& facts);
    LogicalDevice(LogicalDevice&& other) noexcept;
    LogicalDevice& operator=(LogicalDevice&&) = delete;
    LogicalDevice(const LogicalDevice&) = delete;
    LogicalDevice& operator=(const LogicalDevice&) = delete;
    ~LogicalDevice();

    [[nodiscard]] VkDevice get() const { return device_; }
    [[nodiscard]] const ComputeSymbols& vulkan() const { return vulkan_; }
    [[nodiscard]] std::uint32_t queue_family() const { return family_; }
    [[nodiscard]] VkQueue queue() const;

private:
    LogicalDevice(VkDevice device, const ComputeSymbols& vulkan, std::uint32_t family)
        : device_{device}, vulkan_{vulkan}, family_{family} {}

    VkDevice device_;
    ComputeSymbols vulkan_;
    std::uint32_t family_;
};

}  // namespace gpuprobe::backends
