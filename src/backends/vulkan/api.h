// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Types and constants only: every function is looked up at run time.
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include "backends/symbols.h"

// Declarations that Debian 12's Vulkan headers (1.3.239) lack. The names are ours, so they work
// with newer headers too. Source: Vulkan registry, VK_KHR_cooperative_matrix (506) and
// VK_KHR_shader_bfloat16 (141).
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

/// VkCooperativeMatrixPropertiesKHR. Types are VkComponentTypeKHR, scope is VkScopeKHR.
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

/// A function, given by the pointer type (PFN_…) in Vulkan's headers.
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
    /// Null in a Vulkan 1.0 loader.
    OptionalVulkanSymbol<PFN_vkEnumerateInstanceVersion> version{*this,
                                                                 "vkEnumerateInstanceVersion"};
};

/// The functions of an instance, which query physical devices and create a logical device. The
/// functions whose names end in 2 come from Vulkan 1.1 or from
/// VK_KHR_get_physical_device_properties2; on Vulkan 1.0 without that extension, all of them are
/// null.
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
    /// Null in older drivers.
    OptionalVulkanSymbol<GetCooperativeMatrixProperties> cooperative_matrices{
        *this, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"};

    /// Whether queries accept pNext chains.
    [[nodiscard]] bool has_chains() const { return properties2 && features2 && memory2; }
};

/// The functions that run kernels on a logical device, all of them in Vulkan 1.0.
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

}  // namespace gpuprobe::backends
