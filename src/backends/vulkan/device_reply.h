// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/vulkan/api.h"

namespace gpuprobe::backends {

/// Where a structure comes from: an extension, and the version that made it core (0: none did).
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

/// All that one device said, as it said it. A structure that was not asked for is nullopt.
///
/// Counts inside are the driver's and may lie; the vectors are bounded.
struct DeviceReply {
    std::uint32_t index = 0;
    std::uint32_t instance_version = VK_API_VERSION_1_0;
    bool has_chains = false;  ///< the …2 functions exist, so structures could be chained
    VkPhysicalDeviceProperties properties = {};
    VkPhysicalDeviceFeatures features = {};
    VkPhysicalDeviceMemoryProperties memory = {};
    std::optional<std::vector<std::string>> extensions = {};  ///< sorted; nullopt when refused
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

    [[nodiscard]] bool lists(const char* extension) const;
    /// The structure may be chained: the device lists its extension, or both device and instance
    /// have the version that made it core. Chained otherwise, it stays zero: a false fact.
    [[nodiscard]] bool offers(const Origin& origin) const;
    /// The device is known not to have it, even where it could not be asked.
    [[nodiscard]] bool lacks(const Origin& origin) const;
};

/// Everything a physical device says about itself. Creates no VkDevice and takes no memory on it.
/// A structure is chained only where the device offers it, and is zero before each call.
DeviceReply ask_device(const InstanceSymbols& vulkan,
                       VkPhysicalDevice device,
                       std::uint32_t index,
                       std::uint32_t instance_version);

constexpr std::uint32_t kMaxQueueFamilies = 64;
constexpr std::uint32_t kMaxCooperativeMatrices = 256;

/// The names of a list that Vulkan hands out by count, sorted, at most `kMaxExtensions`.
std::vector<std::string> extension_names(const std::vector<VkExtensionProperties>& extensions);
constexpr std::uint32_t kMaxExtensions = 1024;

}  // namespace gpuprobe::backends
