// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/vulkan/api.h"
#include "base/value.h"
#include "report/facts.h"

/// Conversion of Vulkan's numbers into the words and texts used in facts.
namespace gpuprobe::backends {

/// The name of a result: "VK_ERROR_INCOMPATIBLE_DRIVER", or "VkResult -77" for unknown numbers.
std::string result_name(VkResult result);

/// The word for a driver: "nvidia-proprietary", "mesa-radv"; the number as text for drivers newer
/// than the table. Source: Vulkan registry, VkDriverId.
std::string driver_word(std::uint32_t driver_id);

/// An API version: "1.3.277", or "1:1.3.277" for a Vulkan variant other than 0.
std::string api_version_text(std::uint32_t version);

/// The version of a driver, unpacked as its vendor packs it: NVIDIA uses 10.8.8.6 bits, all others
/// on Linux the form of an API version. Sources: NVIDIA's "550.54.14" in vulkan.gpuinfo.org; Mesa,
/// vk_device.c.
std::string driver_version_text(std::uint32_t version,
                                std::uint32_t vendor_id,
                                std::optional<std::uint32_t> driver_id);

/// The type of a device; nullopt for unknown numbers.
std::optional<DeviceType> device_type(VkPhysicalDeviceType type);

/// The word for a component type: "float16", "sint8" …; the number as text for newer ones. Source:
/// VkComponentTypeKHR.
std::string component_word(std::uint32_t type);
/// The word for a scope: "subgroup", "workgroup" …; the number as text for newer ones. Source:
/// VkScopeKHR.
std::string scope_word(std::uint32_t scope);

/// The words for the set bits, in bit order; bits without a word are left out.
Value queue_flag_words(VkQueueFlags flags);
Value subgroup_operation_words(VkSubgroupFeatureFlags operations);

}  // namespace gpuprobe::backends
