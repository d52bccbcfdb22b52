// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Vulkan's headers are used only for types and constants: every function is looked up at run time.
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include "backends/driver_library.h"
#include "base/value.h"
#include "report/facts.h"
#include "report/video.h"

// Declarations that Debian 12's Vulkan headers (1.3.239) lack. The names are defined by gpuprobe,
// so they also work with newer headers. Source: Vulkan registry, VK_KHR_cooperative_matrix (506)
// and VK_KHR_shader_bfloat16 (141).

namespace gpuprobe::backends {

constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
constexpr auto kCooperativeMatrixPropertiesType = static_cast<VkStructureType>(1000506001);
constexpr auto kShaderBfloat16FeaturesType = static_cast<VkStructureType>(1000141000);

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
    VkStructureType sType;
    void* pNext;
    VkBool32 cooperativeMatrix;
    VkBool32 cooperativeMatrixRobustBufferAccess;
};

/// VkCooperativeMatrixPropertiesKHR. The types are VkComponentTypeKHR; the scope is VkScopeKHR.
struct CooperativeMatrixProperties {
    VkStructureType sType;
    void* pNext;
    std::uint32_t MSize;
    std::uint32_t NSize;
    std::uint32_t KSize;
    std::uint32_t AType;
    std::uint32_t BType;
    std::uint32_t CType;
    std::uint32_t ResultType;
    VkBool32 saturatingAccumulation;
    std::uint32_t scope;
};
static_assert(sizeof(CooperativeMatrixProperties) == 56 || sizeof(void*) != 8);

/// VkPhysicalDeviceShaderBfloat16FeaturesKHR.
struct ShaderBfloat16Features {
    VkStructureType sType;
    void* pNext;
    VkBool32 shaderBFloat16Type;
    VkBool32 shaderBFloat16DotProduct;
    VkBool32 shaderBFloat16CooperativeMatrix;
};

/// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR.
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice,
                                                            std::uint32_t*,
                                                            CooperativeMatrixProperties*);

/// A function of Vulkan. `Pointer` is the function's pointer type (PFN_…) in Vulkan's headers.
template <class Pointer>
using VulkanSymbol = Symbol<std::remove_pointer_t<Pointer>>;
template <class Pointer>
using OptionalVulkanSymbol = OptionalSymbol<std::remove_pointer_t<Pointer>>;

/// The one function that the loader exports by name; all others are looked up through it.
struct LoaderEntry : SymbolTable {
    using SymbolTable::SymbolTable;
    VulkanSymbol<PFN_vkGetInstanceProcAddr> instance_function{*this, "vkGetInstanceProcAddr"};
};

/// The functions that are available without an instance.
struct LoaderSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    VulkanSymbol<PFN_vkCreateInstance> create_instance{*this, "vkCreateInstance"};
    VulkanSymbol<PFN_vkEnumerateInstanceExtensionProperties> instance_extensions{
        *this, "vkEnumerateInstanceExtensionProperties"};
    /// This function is null in a Vulkan 1.0 loader.
    OptionalVulkanSymbol<PFN_vkEnumerateInstanceVersion> version{*this,
                                                                 "vkEnumerateInstanceVersion"};
};

/// The functions of an instance, which query physical devices and create a logical device. The
/// functions whose names end in 2 come from Vulkan 1.1 or from
/// VK_KHR_get_physical_device_properties2; on Vulkan 1.0 without that extension, these functions
/// are null.
struct InstanceSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    VulkanSymbol<PFN_vkEnumeratePhysicalDevices> devices{*this, "vkEnumeratePhysicalDevices"};
    VulkanSymbol<PFN_vkGetPhysicalDeviceProperties> properties{*this,
                                                               "vkGetPhysicalDeviceProperties"};
    VulkanSymbol<PFN_vkGetPhysicalDeviceFeatures> features{*this, "vkGetPhysicalDeviceFeatures"};
    VulkanSymbol<PFN_vkGetPhysicalDeviceMemoryProperties> memory{
        *this, "vkGetPhysicalDeviceMemoryProperties"};
    VulkanSymbol<PFN_vkGetPhysicalDeviceQueueFamilyProperties> queues{
        *this, "vkGetPhysicalDeviceQueueFamilyProperties"};
    VulkanSymbol<PFN_vkEnumerateDeviceExtensionProperties> extensions{
        *this, "vkEnumerateDeviceExtensionProperties"};
    VulkanSymbol<PFN_vkCreateDevice> create_device{*this, "vkCreateDevice"};
    VulkanSymbol<PFN_vkGetDeviceProcAddr> device_function{*this, "vkGetDeviceProcAddr"};
    OptionalVulkanSymbol<PFN_vkGetPhysicalDeviceProperties2> properties2{
        *this, "vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceProperties2KHR"};
    OptionalVulkanSymbol<PFN_vkGetPhysicalDeviceFeatures2> features2{
        *this, "vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceFeatures2KHR"};
    OptionalVulkanSymbol<PFN_vkGetPhysicalDeviceMemoryProperties2> memory2{
        *this, "vkGetPhysicalDeviceMemoryProperties2", "vkGetPhysicalDeviceMemoryProperties2KHR"};
    // These functions are null in older drivers.
    OptionalVulkanSymbol<GetCooperativeMatrixProperties> cooperative_matrices{
        *this, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"};
    OptionalVulkanSymbol<PFN_vkGetPhysicalDeviceQueueFamilyProperties2> queues2{
        *this, "vkGetPhysicalDeviceQueueFamilyProperties2",
        "vkGetPhysicalDeviceQueueFamilyProperties2KHR"};
    OptionalVulkanSymbol<PFN_vkGetPhysicalDeviceVideoCapabilitiesKHR> video_capabilities{
        *this, "vkGetPhysicalDeviceVideoCapabilitiesKHR"};

    /// Whether queries accept pNext chains.
    [[nodiscard]] bool has_chains() const { return properties2 && features2 && memory2; }
};

/// The functions that run kernels on a logical device. Vulkan 1.0 contains all of these functions.
struct DeviceSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    VulkanSymbol<PFN_vkDestroyDevice> destroy_device{*this, "vkDestroyDevice"};
    VulkanSymbol<PFN_vkGetDeviceQueue> queue{*this, "vkGetDeviceQueue"};
    VulkanSymbol<PFN_vkCreateBuffer> create_buffer{*this, "vkCreateBuffer"};
    VulkanSymbol<PFN_vkDestroyBuffer> destroy_buffer{*this, "vkDestroyBuffer"};
    VulkanSymbol<PFN_vkGetBufferMemoryRequirements> requirements{*this,
                                                                 "vkGetBufferMemoryRequirements"};
    VulkanSymbol<PFN_vkAllocateMemory> allocate{*this, "vkAllocateMemory"};
    VulkanSymbol<PFN_vkFreeMemory> free{*this, "vkFreeMemory"};
    VulkanSymbol<PFN_vkBindBufferMemory> bind{*this, "vkBindBufferMemory"};
    VulkanSymbol<PFN_vkMapMemory> map{*this, "vkMapMemory"};
    VulkanSymbol<PFN_vkCreateDescriptorSetLayout> create_set_layout{*this,
                                                                    "vkCreateDescriptorSetLayout"};
    VulkanSymbol<PFN_vkDestroyDescriptorSetLayout> destroy_set_layout{
        *this, "vkDestroyDescriptorSetLayout"};
    VulkanSymbol<PFN_vkCreatePipelineLayout> create_pipeline_layout{*this,
                                                                    "vkCreatePipelineLayout"};
    VulkanSymbol<PFN_vkDestroyPipelineLayout> destroy_pipeline_layout{*this,
                                                                      "vkDestroyPipelineLayout"};
    VulkanSymbol<PFN_vkCreateDescriptorPool> create_descriptor_pool{*this,
                                                                    "vkCreateDescriptorPool"};
    VulkanSymbol<PFN_vkDestroyDescriptorPool> destroy_descriptor_pool{*this,
                                                                      "vkDestroyDescriptorPool"};
    VulkanSymbol<PFN_vkAllocateDescriptorSets> allocate_sets{*this, "vkAllocateDescriptorSets"};
    VulkanSymbol<PFN_vkUpdateDescriptorSets> update_sets{*this, "vkUpdateDescriptorSets"};
    VulkanSymbol<PFN_vkCreateShaderModule> create_shader{*this, "vkCreateShaderModule"};
    VulkanSymbol<PFN_vkDestroyShaderModule> destroy_shader{*this, "vkDestroyShaderModule"};
    VulkanSymbol<PFN_vkCreateComputePipelines> create_pipelines{*this, "vkCreateComputePipelines"};
    VulkanSymbol<PFN_vkDestroyPipeline> destroy_pipeline{*this, "vkDestroyPipeline"};
    VulkanSymbol<PFN_vkCreateCommandPool> create_command_pool{*this, "vkCreateCommandPool"};
    VulkanSymbol<PFN_vkDestroyCommandPool> destroy_command_pool{*this, "vkDestroyCommandPool"};
    VulkanSymbol<PFN_vkAllocateCommandBuffers> allocate_commands{*this, "vkAllocateCommandBuffers"};
    VulkanSymbol<PFN_vkBeginCommandBuffer> begin{*this, "vkBeginCommandBuffer"};
    VulkanSymbol<PFN_vkEndCommandBuffer> end{*this, "vkEndCommandBuffer"};
    VulkanSymbol<PFN_vkCmdBindPipeline> bind_pipeline{*this, "vkCmdBindPipeline"};
    VulkanSymbol<PFN_vkCmdBindDescriptorSets> bind_sets{*this, "vkCmdBindDescriptorSets"};
    VulkanSymbol<PFN_vkCmdPushConstants> push{*this, "vkCmdPushConstants"};
    VulkanSymbol<PFN_vkCmdDispatch> dispatch{*this, "vkCmdDispatch"};
    VulkanSymbol<PFN_vkCmdPipelineBarrier> barrier{*this, "vkCmdPipelineBarrier"};
    VulkanSymbol<PFN_vkCmdCopyBuffer> copy{*this, "vkCmdCopyBuffer"};
    VulkanSymbol<PFN_vkCreateFence> create_fence{*this, "vkCreateFence"};
    VulkanSymbol<PFN_vkDestroyFence> destroy_fence{*this, "vkDestroyFence"};
    VulkanSymbol<PFN_vkResetFences> reset_fences{*this, "vkResetFences"};
    VulkanSymbol<PFN_vkWaitForFences> wait{*this, "vkWaitForFences"};
    VulkanSymbol<PFN_vkQueueSubmit> submit{*this, "vkQueueSubmit"};
};

// The following functions convert Vulkan's numbers into the words and strings that facts use.

/// The name of a result, such as "VK_ERROR_INCOMPATIBLE_DRIVER", or "VkResult -77" for unknown
/// numbers.
std::string result_name(VkResult result);

/// The name of a driver, such as "nvidia-proprietary", "mesa-radv"; the number as a string for
/// drivers newer than the table. Source: Vulkan registry, VkDriverId.
std::string driver_word(std::uint32_t driver_id);

/// An API version as a string, such as "1.3.277", or "1:1.3.277" for a Vulkan variant other than 0.
std::string api_version_text(std::uint32_t version);

/// The version of a driver as a string. Vendors pack driver versions into a number in different
/// ways. NVIDIA uses 10, 8, 8 and 6 bits; on Linux, all other vendors use the form of an API
/// version. Sources: NVIDIA's "550.54.14" in vulkan.gpuinfo.org; Mesa, vk_device.c.
std::string driver_version_text(std::uint32_t version,
                                std::uint32_t vendor_id,
                                std::optional<std::uint32_t> driver_id);

/// The type of a device; nullopt for unknown numbers.
std::optional<DeviceType> device_type(VkPhysicalDeviceType type);

/// The name of a component type, such as "float16", "sint8" …; the number as a string for types
/// that are newer than the table. Source: VkComponentTypeKHR.
std::string component_word(std::uint32_t type);
/// The name of a scope, such as "subgroup", "workgroup" …; the number as a string for scopes that
/// are newer than the table. Source: VkScopeKHR.
std::string scope_word(std::uint32_t scope);

/// The names of the bits that are set, in bit order. Bits without a name are left out.
Value queue_flag_words(VkQueueFlags flags);
Value subgroup_operation_words(VkSubgroupFeatureFlags operations);

/// The origin of a structure: the extension that defines the structure, and the Vulkan version that
/// includes the extension (0 if no version includes it).
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

/// All data that one device reported, unchanged. Structures that weren't queried are nullopt.
///
/// Counts inside the structures come from the driver and may be wrong; the lengths of the vectors
/// are limited.
struct DeviceReply {
    std::uint32_t index = 0;
    std::uint32_t instance_version = VK_API_VERSION_1_0;
    bool has_chains = false;  ///< the result of InstanceSymbols::has_chains()
    VkPhysicalDeviceProperties properties = {};
    VkPhysicalDeviceFeatures features = {};
    VkPhysicalDeviceMemoryProperties memory = {};
    /// The names of the device's extensions, sorted; nullopt if the query failed.
    std::optional<std::vector<std::string>> extensions = {};
    std::vector<VkQueueFamilyProperties> queues = {};
    std::optional<std::vector<CooperativeMatrixProperties>> matrices = {};
    /// What Vulkan Video supports; nullopt if the driver does not offer Vulkan Video.
    std::optional<std::vector<VideoEntry>> video = {};

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
    /// Whether a structure may be chained: the device lists its extension, or both the device and
    /// the instance support the Vulkan version that includes the extension. A chained structure
    /// that isn't supported would stay zero, which would be a wrong fact.
    [[nodiscard]] bool offers(const Origin& origin) const;
    /// Whether it is certain that the device lacks a structure, even if the structure could not be
    /// queried.
    [[nodiscard]] bool lacks(const Origin& origin) const;
};

/// Queries everything that a physical device reports. Creates no VkDevice and uses no memory on the
/// device. Chains only structures that the device offers. Every structure is zeroed before the
/// call.
DeviceReply ask_device(const InstanceSymbols& vulkan,
                       VkPhysicalDevice device,
                       std::uint32_t index,
                       std::uint32_t instance_version);

/// Queries what the device can decode and encode through Vulkan Video: at most 57 queries.
/// `reply.extensions` must be known.
void ask_video(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply);

constexpr std::uint32_t kMaxQueueFamilies = 64;
constexpr std::uint32_t kMaxCooperativeMatrices = 256;

/// The names in a list of extensions, sorted.
std::vector<std::string> extension_names(const std::vector<VkExtensionProperties>& extensions);
constexpr std::uint32_t kMaxExtensions = 1024;

}  // namespace gpuprobe::backends
