// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/vulkan/api.h"

namespace gpuprobe::backends {

/// The origin of a structure: an extension, and the Vulkan version that includes it (0: none).
struct Origin {
    const char* extension = nullptr;
    std::uint32_t core = 0;
};

namespace origin {
inline constexpr Origin kIdentity{"VK_KHR_external_memory_capabilities", VK_API_VERSION_1_1};
inline constexpr Origin kSubgroup{"", VK_API_VERSION_1_1};
inline constexpr Origin kMaintenance3{"VK_KHR_maintenance3", VK_API_VERSION_1_1};
inline constexpr Origin kStorage16{"VK_KHR_16bit_storage", VK_API_VERSION_1_1};
inline constexpr Origin kStorage8{"VK_KHR_8bit_storage", VK_API_VERSION_1_2};
inline constexpr Origin kFloat16Int8{"VK_KHR_shader_float16_int8", VK_API_VERSION_1_2};
inline constexpr Origin kDriver{"VK_KHR_driver_properties", VK_API_VERSION_1_2};
inline constexpr Origin kSubgroupSize{"VK_EXT_subgroup_size_control", VK_API_VERSION_1_3};
inline constexpr Origin kMaintenance4{"VK_KHR_maintenance4", VK_API_VERSION_1_3};
inline constexpr Origin kDotProduct{"VK_KHR_shader_integer_dot_product", VK_API_VERSION_1_3};
inline constexpr Origin kPciBusInfo{"VK_EXT_pci_bus_info", 0};
inline constexpr Origin kDrm{"VK_EXT_physical_device_drm", 0};
inline constexpr Origin kMemoryBudget{"VK_EXT_memory_budget", 0};
inline constexpr Origin kCooperativeMatrix{"VK_KHR_cooperative_matrix", 0};
inline constexpr Origin kBfloat16{"VK_KHR_shader_bfloat16", 0};
}  // namespace origin

/// All data that one device reported, unchanged. Structures that were skipped are nullopt.
///
/// Counts inside the structures come from the driver and may be wrong; the lengths of the vectors
/// are limited.
struct DeviceReply {
    std::uint32_t index = 0;
    std::uint32_t instance_version = VK_API_VERSION_1_0;
    bool has_chains = false;  ///< InstanceSymbols::has_chains()
    VkPhysicalDeviceProperties properties = {};
    VkPhysicalDeviceFeatures features = {};
    VkPhysicalDeviceMemoryProperties memory = {};
    std::optional<std::vector<std::string>> extensions = {};  ///< sorted; nullopt if refused
    std::vector<VkQueueFamilyProperties> queues = {};
    std::optional<std::vector<CooperativeMatrixProperties>> matrices = {};

    std::optional<VkPhysicalDeviceIDProperties> identity = {};
    std::optional<VkPhysicalDeviceDriverProperties> driver = {};
    std::optional<VkPhysicalDevicePCIBusInfoPropertiesEXT> pci = {};
    std::optional<VkPhysicalDeviceDrmPropertiesEXT> drm = {};
    std::optional<VkPhysicalDeviceSubgroupProperties> subgroup = {};
    std::optional<VkPhysicalDeviceSubgroupSizeControlProperties> subgroup_size = {};
    std::optional<VkPhysicalDeviceMaintenance3Properties> maintenance3 = {};
    std::optional<VkPhysicalDeviceMaintenance4Properties> maintenance4 = {};
    std::optional<VkPhysicalDeviceShaderIntegerDotProductProperties> dot_product = {};
    std::optional<VkPhysicalDevice16BitStorageFeatures> storage16 = {};
    std::optional<VkPhysicalDevice8BitStorageFeatures> storage8 = {};
    std::optional<VkPhysicalDeviceShaderFloat16Int8Features> float16_int8 = {};
    std::optional<VkPhysicalDeviceShaderIntegerDotProductFeatures> dot_product_feature = {};
    std::optional<CooperativeMatrixFeatures> matrix_feature = {};
    std::optional<ShaderBfloat16Features> bfloat16 = {};
    std::optional<VkPhysicalDeviceMemoryBudgetPropertiesEXT> budget = {};

    /// Whether the device lists an extension.
    [[nodiscard]] bool lists(const char* extension) const;
    /// Whether a structure may be chained: the device lists its extension, or both device and
    /// instance have the version that includes it. In a chain without support, the structure stays
    /// zero, which would be a wrong fact.
    [[nodiscard]] bool offers(const Origin& origin) const;
    /// Whether the device certainly lacks a structure, even if it could not be queried.
    [[nodiscard]] bool lacks(const Origin& origin) const;
};

/// Queries everything that a physical device reports. Creates no VkDevice and uses no memory on the
/// device. Chains only structures that the device offers, zeroed before the call.
DeviceReply ask_device(const InstanceSymbols& vulkan,
                       VkPhysicalDevice device,
                       std::uint32_t index,
                       std::uint32_t instance_version);

constexpr std::uint32_t kMaxQueueFamilies = 64;
constexpr std::uint32_t kMaxCooperativeMatrices = 256;

/// The names in a list of extensions, sorted.
std::vector<std::string> extension_names(const std::vector<VkExtensionProperties>& extensions);
constexpr std::uint32_t kMaxExtensions = 1024;

}  // namespace gpuprobe::backends
