// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/vulkan/device_reply.h"
#include "backends/vulkan/instance.h"

namespace gpuprobe::backends {

/// Everything a physical device says about itself. Creates no VkDevice and takes no memory on it.
/// A structure is chained only where the device offers it, and is zero before each call.
DeviceReply ask_device(const InstanceSymbols& vulkan,
                       VkPhysicalDevice device,
                       std::uint32_t index,
                       std::uint32_t instance_version);

constexpr std::uint32_t kMaxQueueFamilies = 64;
constexpr std::uint32_t kMaxCooperativeMatrices = 256;

}  // namespace gpuprobe::backends
