// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "backends/dynamic_library.h"
#include "backends/vulkan/vulkan_api.h"
#include "base/result.h"

namespace gpuprobe::backends {

/// The part of the Vulkan loader that works without an instance.
struct LoaderSymbols {
    PFN_vkGetInstanceProcAddr instance_function = nullptr;
    PFN_vkCreateInstance create_instance = nullptr;
    PFN_vkEnumerateInstanceExtensionProperties instance_extensions = nullptr;
    PFN_vkEnumerateInstanceVersion version = nullptr;  ///< null in a Vulkan 1.0 loader
};

/// Errors: NotFound, naming the function.
Result<LoaderSymbols> load_vulkan(const DynamicLibrary& library);

/// What is asked of physical devices. Those ending in 2 are null together on Vulkan 1.0 without
/// VK_KHR_get_physical_device_properties2.
struct InstanceSymbols {
    PFN_vkEnumeratePhysicalDevices devices = nullptr;
    PFN_vkGetPhysicalDeviceProperties properties = nullptr;
    PFN_vkGetPhysicalDeviceFeatures features = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties memory = nullptr;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties queues = nullptr;
    PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
    PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
    PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory2 = nullptr;
    GetCooperativeMatrixProperties cooperative_matrices = nullptr;  ///< null in older drivers

    [[nodiscard]] bool has_chains() const { return properties2 && features2 && memory2; }
};

/// Errors: NotFound, naming the function.
Result<InstanceSymbols> load_instance(const LoaderSymbols& loader, VkInstance instance);

/// What the loader implements.
std::uint32_t loader_version(const LoaderSymbols& loader);

/// An instance as a probe wants it: no layers, no surface extension (drivers would connect to a
/// display), portability drivers included. It is never destroyed: teardown is where drivers crash,
/// and the worker ends right after.
VkResult create_instance(const LoaderSymbols& loader, std::uint32_t version, VkInstance& instance);

/// Newest API that an instance is created for: the headers know no later one.
constexpr std::uint32_t kMaxInstanceVersion = VK_API_VERSION_1_3;

/// The names of a list that Vulkan hands out by count, sorted, at most `kMaxExtensions`.
std::vector<std::string> extension_names(const std::vector<VkExtensionProperties>& extensions);
constexpr std::uint32_t kMaxExtensions = 1024;

}  // namespace gpuprobe::backends
