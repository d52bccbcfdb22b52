// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Types and constants only: every function is looked up at run time.
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

/// What newer Vulkan headers declare and Debian 12's (1.3.239) do not, under names of our own so
/// that either header will do. Source: Vulkan registry, VK_KHR_cooperative_matrix (506) and
/// VK_KHR_shader_bfloat16 (141).
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

}  // namespace gpuprobe::backends
