// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/vulkan/api.h"
#include "base/value.h"
#include "report/facts.h"

/// Vulkan's numbers as the words and texts that facts carry.
namespace gpuprobe::backends {

/// "VK_ERROR_INCOMPATIBLE_DRIVER"; "VkResult -77" for one that has no name here.
std::string result_name(VkResult result);

/// "nvidia-proprietary", "mesa-radv"; the number as text for drivers newer than the table.
/// Source: Vulkan registry, VkDriverId.
std::string driver_word(std::uint32_t driver_id);

/// "1.3.277", and "1:1.3.277" for a variant of Vulkan other than 0.
std::string api_version_text(std::uint32_t version);

/// The driver's version in its vendor's own packing: NVIDIA 10.8.8.6 bits, everyone else on Linux
/// as an API version. Sources: NVIDIA's "550.54.14" in vulkan.gpuinfo.org; Mesa, vk_device.c.
std::string driver_version_text(std::uint32_t version,
                                std::uint32_t vendor_id,
                                std::optional<std::uint32_t> driver_id);

std::optional<DeviceType> device_type(VkPhysicalDeviceType type);

/// "float16", "sint8" …; the number as text for newer ones. Source: VkComponentTypeKHR.
std::string component_word(std::uint32_t type);
/// "subgroup", "workgroup" …; the number as text for newer ones. Source: VkScopeKHR.
std::string scope_word(std::uint32_t scope);

/// The words for the set bits, in bit order; bits without a word are left out.
Value queue_flag_words(VkQueueFlags flags);
Value subgroup_operation_words(VkSubgroupFeatureFlags operations);

}  // namespace gpuprobe::backends
