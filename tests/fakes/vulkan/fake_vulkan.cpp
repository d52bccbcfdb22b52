// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver without a GPU. fake_vulkan_compute.h contains the part that computes.
// FAKE_BEHAVIOUR selects what is wrong with the driver, and the variable FAULT (../fault.h) causes
// faults at load, negotiate, instance, enumerate, query and unload. Source: Vulkan loader,
// LoaderDriverInterface.md, interface version 5.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#define VK_NO_PROTOTYPES
#include <vulkan/vk_icd.h>

#include "../fault.h"

namespace {

enum class Behaviour {
    Gpu,                  ///< one healthy discrete GPU of 24 GiB
    Many,                 ///< more devices than any machine has
    NoDevice,             ///< vkEnumeratePhysicalDevices fails, as in drivers without hardware
    RefuseInstance,       ///< vkCreateInstance is missing, as in NVIDIA's GLX library without X
    CrashInEnumerate,     ///< SIGSEGV in vkEnumeratePhysicalDevices
    CrashOnSecondDevice,  ///< SIGSEGV while the second of two devices is queried
    CrashInConstructor,   ///< SIGSEGV in dlopen
    HangInCreate,         ///< never returns from vkCreateInstance
    ExitInConstructor,    ///< prints in dlopen, and ends the process with status 0
    Liar,                 ///< impossible counts, sizes, strings and addresses
};
constexpr auto kBehaviour = Behaviour::FAKE_BEHAVIOUR;
constexpr bool kLies = kBehaviour == Behaviour::Liar;
constexpr std::uint32_t kDevices = kBehaviour == Behaviour::Many                  ? 10000
                                   : kBehaviour == Behaviour::CrashOnSecondDevice ? 2
                                                                                  : 1;
constexpr std::uint64_t kMemory = std::uint64_t{24} << 30;
constexpr std::uint64_t kUsed = std::uint64_t{1} << 30;

__attribute__((destructor)) void on_unload() {
    fake::at("unload");
}

__attribute__((constructor)) void on_load() {
    fake::at("load");
    if (kBehaviour == Behaviour::CrashInConstructor)
        fake::crash();
    if (kBehaviour == Behaviour::ExitInConstructor) {
        std::printf("{\"devices\": \"everything is fine\"}\n");
        std::fflush(stdout);
        // exit() itself would wait forever: the loader's exit handler needs a lock that its dlopen
        // holds (seen with 1.3.239).
        ::_exit(0);
    }
}

/// The loader stores a pointer at the start of each object.
struct Object {
    VK_LOADER_DATA loader = {ICD_LOADER_MAGIC};
};
Object the_instance;
std::array<Object, kDevices> the_devices = [] {
    std::array<Object, kDevices> all{};
    return all;
}();

std::uint32_t index_of(VkPhysicalDevice device) {
    return static_cast<std::uint32_t>(reinterpret_cast<Object*>(device) - the_devices.data());
}

template <std::size_t size>
void write_text(char (&array)[size], std::string_view text) {
    std::fill_n(array, size, '\0');
    std::copy_n(text.data(), std::min(text.size(), size - 1), array);
}

VkResult create_instance(const VkInstanceCreateInfo*,
                         const VkAllocationCallbacks*,
                         VkInstance* instance) {
    fake::at("instance");
    if (kBehaviour == Behaviour::HangInCreate)
        fake::hang();
    *instance = reinterpret_cast<VkInstance>(&the_instance);
    return static_cast<VkResult>(fake::returned("vkCreateInstance", VK_SUCCESS));
}

void destroy_instance(VkInstance, const VkAllocationCallbacks*) {}

VkResult instance_version(std::uint32_t* version) {
    *version = VK_MAKE_API_VERSION(0, 1, 3, 239);
    return VK_SUCCESS;
}

/// Returns a list like Vulkan: the number of items, or as many items as fit.
template <class Item, std::size_t size>
VkResult hand_out(const std::array<Item, size>& items, std::uint32_t* count, Item* out) {
    if (!out) {
        *count = size;
        return VK_SUCCESS;
    }
    const auto fitting = std::min<std::size_t>(*count, size);
    std::copy_n(items.begin(), fitting, out);
    *count = static_cast<std::uint32_t>(fitting);
    return fitting < size ? VK_INCOMPLETE : VK_SUCCESS;
}

VkExtensionProperties extension(std::string_view name) {
    VkExtensionProperties properties{};
    write_text(properties.extensionName, name);
    properties.specVersion = 1;
    return properties;
}

VkResult instance_extensions(const char*, std::uint32_t* count, VkExtensionProperties* out) {
    const std::array list = {extension("VK_KHR_get_physical_device_properties2")};
    return hand_out(list, count, out);
}

VkResult devices(VkInstance, std::uint32_t* count, VkPhysicalDevice* out) {
    fake::at("enumerate");
    if (kBehaviour == Behaviour::CrashInEnumerate)
        fake::crash();
    if (kBehaviour == Behaviour::NoDevice)
        return VK_ERROR_INITIALIZATION_FAILED;
    if (const auto refusal = fake::returned("vkEnumeratePhysicalDevices", VK_SUCCESS))
        return static_cast<VkResult>(refusal);
    if (!out && (fake::lies("endless-devices") || fake::lies("many-devices"))) {
        *count = fake::lies("many-devices") ? 1U << 24U : 0xffffffff;
        return VK_SUCCESS;
    }
    static const auto handles = [] {
        std::array<VkPhysicalDevice, kDevices> all{};
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = reinterpret_cast<VkPhysicalDevice>(&the_devices[i]);
        return all;
    }();
    return hand_out(handles, count, out);
}

void properties(VkPhysicalDevice, VkPhysicalDeviceProperties* out) {
    *out = {};
    out->apiVersion = VK_MAKE_API_VERSION(0, 1, 3, 277);
    out->driverVersion = 580U << 22 | 159U << 14 | 4U << 6;
    out->vendorID = 0x10de;
    out->deviceID = 0x2684;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    write_text(out->deviceName, "Fake GPU 24G");
    out->limits.maxComputeSharedMemorySize = 49152;
    out->limits.maxComputeWorkGroupInvocations = 1024;
    out->limits.maxStorageBufferRange = 1 << 26;  // small, because measurements use host memory
    out->limits.timestampPeriod = 1.0F;
    if (fake::lies("name-without-end"))
        std::memset(out->deviceName, 0xff, sizeof out->deviceName);
    if (fake::lies("name-with-marks"))
        write_text(out->deviceName, "\x1b[2J\nFake\u202eGPU\u2066");
    if (!kLies)
        return;
    out->driverVersion = 0xffffffff;
    out->vendorID = 0xffffffff;
    out->deviceType = static_cast<VkPhysicalDeviceType>(77);
    std::memset(out->deviceName, 0xff, sizeof out->deviceName);
    out->limits.timestampPeriod = std::nanf("");
}

void write_driver(VkPhysicalDeviceDriverProperties& out) {
    out.driverID = kLies ? static_cast<VkDriverId>(9999) : VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    write_text(out.driverName, "FAKE");
    write_text(out.driverInfo, "580.159.04");
    out.conformanceVersion = {1, 4, 1, 3};
    if (kLies)
        std::memset(out.driverInfo, 'A', sizeof out.driverInfo);
}

void write_identity(VkPhysicalDeviceIDProperties& out, std::uint32_t index) {
    for (std::size_t i = 0; i < VK_UUID_SIZE; ++i) {
        out.deviceUUID[i] = kLies ? std::uint8_t{0} : static_cast<std::uint8_t>(0xa0 + i + index);
        out.driverUUID[i] = kLies ? std::uint8_t{0} : static_cast<std::uint8_t>(i + 1);
    }
    std::fill_n(out.deviceLUID, VK_LUID_SIZE, std::uint8_t{0});
    out.deviceLUIDValid = kLies ? VK_TRUE : VK_FALSE;
}

void write_address(VkPhysicalDevicePCIBusInfoPropertiesEXT& out, std::uint32_t index) {
    out.pciDomain = 0;
    out.pciBus = kLies ? 0 : 1 + index % 250;
    out.pciDevice = 0;
    out.pciFunction = 0;
}

void write_drm(VkPhysicalDeviceDrmPropertiesEXT& out) {
    out.hasPrimary = VK_TRUE;
    out.hasRender = VK_TRUE;
    out.primaryMajor = kLies ? -1 : 226;
    out.primaryMinor = 0;
    out.renderMajor = 226;
    out.renderMinor = kLies ? std::int64_t{1} << 62 : 128;
}

/// Fills those structures of a chain that this driver knows.
void write_chain(VkBaseOutStructure* link, std::uint32_t index) {
    for (; link; link = link->pNext) {
        void* const any = link;
        switch (link->sType) {
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
                write_driver(*static_cast<VkPhysicalDeviceDriverProperties*>(any));
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES:
                write_identity(*static_cast<VkPhysicalDeviceIDProperties*>(any), index);
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT:
                write_address(*static_cast<VkPhysicalDevicePCIBusInfoPropertiesEXT*>(any), index);
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT:
                write_drm(*static_cast<VkPhysicalDeviceDrmPropertiesEXT*>(any));
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES:
                static_cast<VkPhysicalDeviceSubgroupProperties*>(any)->subgroupSize = 32;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
                static_cast<VkPhysicalDevice16BitStorageFeatures*>(any)->storageBuffer16BitAccess =
                    VK_TRUE;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
                static_cast<VkPhysicalDeviceShaderFloat16Int8Features*>(any)->shaderFloat16 =
                    VK_TRUE;
                break;
            default:
                break;
        }
    }
}

void properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
    properties(device, &out->properties);
    write_chain(static_cast<VkBaseOutStructure*>(out->pNext), index_of(device));
}

void features(VkPhysicalDevice device, VkPhysicalDeviceFeatures* out) {
    // The loader queries the properties of every device to sort the devices, but not the features.
    fake::at("query");
    if (kBehaviour == Behaviour::CrashOnSecondDevice && index_of(device) == 1)
        fake::crash();
    *out = {};
    out->robustBufferAccess = VK_TRUE;
    out->shaderInt16 = VK_TRUE;
}

void features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* out) {
    features(device, &out->features);
    write_chain(static_cast<VkBaseOutStructure*>(out->pNext), index_of(device));
}

void memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* out) {
    *out = {};
    out->memoryHeapCount = kLies || fake::lies("endless-heaps") ? 0xffffffff : 2;
    out->memoryHeaps[0] = {kLies                           ? std::uint64_t{1} << 63
                           : fake::lies("too-much-memory") ? std::uint64_t{1} << 49U
                                                           : kMemory,
                           VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    out->memoryHeaps[1] = {std::uint64_t{16} << 30, 0};
    out->memoryTypeCount = kLies ? 0xffffffff : 2;
    out->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    out->memoryTypes[1] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, kLies ? 0xffffffff : 1};
}

void memory2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* out) {
    memory(device, &out->memoryProperties);
    auto* link = static_cast<VkBaseOutStructure*>(out->pNext);
    for (; link; link = link->pNext) {
        if (link->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
            continue;
        void* const any = link;
        auto& budget = *static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(any);
        budget.heapBudget[0] = kMemory;
        budget.heapUsage[0] = kUsed;
        budget.heapBudget[1] = std::uint64_t{12} << 30;
    }
}

void queues(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* out) {
    const std::array list = {
        VkQueueFamilyProperties{
            VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 16, 64, {}},
        VkQueueFamilyProperties{VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 8, 64, {}}};
    (void)hand_out(list, count, out);
    if (kLies || fake::lies("endless-queues"))
        *count = 0xffffffff;
}

// The loader reads this list with the driver's count, and crashes if the count is wrong.
VkResult extensions(VkPhysicalDevice,
                    const char*,
                    std::uint32_t* count,
                    VkExtensionProperties* out) {
    const std::array list = {extension("VK_EXT_pci_bus_info"),
                             extension("VK_EXT_physical_device_drm"),
                             extension("VK_EXT_memory_budget")};
    if (!out && fake::lies("endless-extensions")) {
        *count = 0xffffffff;
        return VK_SUCCESS;
    }
    return hand_out(list, count, out);
}

// The loader requires that these functions exist. A probe should never call them.
void unused() {}

}  // namespace

#include "fake_vulkan_compute.h"

namespace {

template <class Function>
PFN_vkVoidFunction erased(Function* function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

PFN_vkVoidFunction function_named(std::string_view name) {
    struct Entry {
        std::string_view name;
        PFN_vkVoidFunction function;
    };
    static const std::array kTable = {
        Entry{"vkCreateInstance", erased(create_instance)},
        Entry{"vkDestroyInstance", erased(destroy_instance)},
        Entry{"vkEnumerateInstanceVersion", erased(instance_version)},
        Entry{"vkEnumerateInstanceExtensionProperties", erased(instance_extensions)},
        Entry{"vkEnumeratePhysicalDevices", erased(devices)},
        Entry{"vkGetPhysicalDeviceProperties", erased(properties)},
        Entry{"vkGetPhysicalDeviceProperties2", erased(properties2)},
        Entry{"vkGetPhysicalDeviceFeatures", erased(features)},
        Entry{"vkGetPhysicalDeviceFeatures2", erased(features2)},
        Entry{"vkGetPhysicalDeviceMemoryProperties", erased(memory)},
        Entry{"vkGetPhysicalDeviceMemoryProperties2", erased(memory2)},
        Entry{"vkGetPhysicalDeviceQueueFamilyProperties", erased(queues)},
        Entry{"vkEnumerateDeviceExtensionProperties", erased(extensions)},
        Entry{"vkGetPhysicalDeviceFormatProperties", erased(unused)},
        Entry{"vkGetPhysicalDeviceImageFormatProperties", erased(unused)},
        Entry{"vkGetPhysicalDeviceSparseImageFormatProperties", erased(unused)},
        Entry{"vkCreateDevice", erased(create_device)},
        Entry{"vkGetDeviceProcAddr", erased(device_function)},
    };
    for (const Entry& entry : kTable)
        if (entry.name == name)
            return entry.function;
    return nullptr;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) VkResult vk_icdNegotiateLoaderICDInterfaceVersion(
    std::uint32_t* version);
__attribute__((visibility("default"))) PFN_vkVoidFunction vk_icdGetInstanceProcAddr(
    VkInstance instance, const char* name);

VkResult vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
    fake::at("negotiate");
    *version = fake::lies("endless-version") ? 0xffffffff : std::min<std::uint32_t>(*version, 5);
    return VK_SUCCESS;
}

PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance, const char* name) {
    if (kBehaviour == Behaviour::RefuseInstance && std::string_view{name} == "vkCreateInstance")
        return nullptr;
    return function_named(name);
}
}
