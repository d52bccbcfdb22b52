// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/instance.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

constexpr const char* kPortability = "VK_KHR_portability_enumeration";
constexpr const char* kProperties2 = "VK_KHR_get_physical_device_properties2";

template <class Pointer>
Pointer lookup(const LoaderSymbols& loader, VkInstance instance, const char* name) {
    return reinterpret_cast<Pointer>(loader.instance_function(instance, name));
}

template <class Pointer>
Result<FoundSymbol<std::remove_pointer_t<Pointer>>> required(const LoaderSymbols& loader,
                                                             VkInstance instance,
                                                             const char* name) {
    const auto found = lookup<Pointer>(loader, instance, name);
    if (!found)
        return Error{ErrorCode::NotFound, std::string{name} + ": no such function"};
    return FoundSymbol<std::remove_pointer_t<Pointer>>{found};
}

/// The core function, or the one of the extension that it comes from.
template <class Pointer>
Pointer with_extension(const LoaderSymbols& loader, VkInstance instance, const std::string& name) {
    const auto core = lookup<Pointer>(loader, instance, name.c_str());
    return core ? core : lookup<Pointer>(loader, instance, (name + "KHR").c_str());
}

std::vector<std::string> offered_extensions(const LoaderSymbols& loader) {
    std::vector<VkExtensionProperties> list(kMaxExtensions);
    auto count = kMaxExtensions;
    const VkResult result = loader.instance_extensions(nullptr, &count, list.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return {};
    list.resize(std::min(count, kMaxExtensions));
    return extension_names(list);
}

}  // namespace

Result<LoaderSymbols> load_vulkan(const DynamicLibrary& library) {
    LoaderSymbols loader;
    loader.instance_function = TRY(
        library.symbol<std::remove_pointer_t<PFN_vkGetInstanceProcAddr>>("vkGetInstanceProcAddr"));
    loader.create_instance =
        TRY(required<PFN_vkCreateInstance>(loader, VK_NULL_HANDLE, "vkCreateInstance"));
    loader.instance_extensions = TRY(required<PFN_vkEnumerateInstanceExtensionProperties>(
        loader, VK_NULL_HANDLE, "vkEnumerateInstanceExtensionProperties"));
    loader.version = lookup<PFN_vkEnumerateInstanceVersion>(loader, VK_NULL_HANDLE,
                                                            "vkEnumerateInstanceVersion");
    return loader;
}

Result<InstanceSymbols> load_instance(const LoaderSymbols& loader, VkInstance instance) {
    return InstanceSymbols{
        .devices = TRY(required<PFN_vkEnumeratePhysicalDevices>(loader, instance,
                                                                "vkEnumeratePhysicalDevices")),
        .properties = TRY(required<PFN_vkGetPhysicalDeviceProperties>(
            loader, instance, "vkGetPhysicalDeviceProperties")),
        .features = TRY(required<PFN_vkGetPhysicalDeviceFeatures>(loader, instance,
                                                                  "vkGetPhysicalDeviceFeatures")),
        .memory = TRY(required<PFN_vkGetPhysicalDeviceMemoryProperties>(
            loader, instance, "vkGetPhysicalDeviceMemoryProperties")),
        .queues = TRY(required<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
            loader, instance, "vkGetPhysicalDeviceQueueFamilyProperties")),
        .extensions = TRY(required<PFN_vkEnumerateDeviceExtensionProperties>(
            loader, instance, "vkEnumerateDeviceExtensionProperties")),
        .properties2 = with_extension<PFN_vkGetPhysicalDeviceProperties2>(
            loader, instance, "vkGetPhysicalDeviceProperties2"),
        .features2 = with_extension<PFN_vkGetPhysicalDeviceFeatures2>(
            loader, instance, "vkGetPhysicalDeviceFeatures2"),
        .memory2 = with_extension<PFN_vkGetPhysicalDeviceMemoryProperties2>(
            loader, instance, "vkGetPhysicalDeviceMemoryProperties2"),
        .cooperative_matrices = lookup<GetCooperativeMatrixProperties>(
            loader, instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"),
    };
}

std::uint32_t loader_version(const LoaderSymbols& loader) {
    std::uint32_t version = VK_API_VERSION_1_0;
    if (!loader.version || loader.version(&version) != VK_SUCCESS)
        return VK_API_VERSION_1_0;
    return version;
}

VkResult create_instance(const LoaderSymbols& loader, std::uint32_t version, VkInstance& instance) {
    const auto offered = offered_extensions(loader);
    std::vector<const char*> wanted;
    for (const char* const name : {kPortability, kProperties2})
        if (std::binary_search(offered.begin(), offered.end(), std::string{name}))
            wanted.push_back(name);
    const bool has_portability = !wanted.empty() && wanted.front() == kPortability;

    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "gpuprobe";
    application.apiVersion = version;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    if (has_portability)
        info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = static_cast<std::uint32_t>(wanted.size());
    info.ppEnabledExtensionNames = wanted.data();
    return loader.create_instance(&info, nullptr, &instance);
}

std::vector<std::string> extension_names(const std::vector<VkExtensionProperties>& extensions) {
    std::vector<std::string> names;
    for (const VkExtensionProperties& extension : extensions)
        names.push_back(scrubbed({extension.extensionName,
                                  strnlen(extension.extensionName, VK_MAX_EXTENSION_NAME_SIZE)}));
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace gpuprobe::backends
