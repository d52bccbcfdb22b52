// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver that is based on Mesa's lavapipe. It reports the properties in a file next to it
// (the library's path with .json instead of .so), but always computes on the CPU. With this driver,
// programs can run as on a machine with several GPUs.
// Source: Vulkan loader, LoaderDriverInterface.md, interface version 5.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

#include "../misbehave.h"

namespace {

using Json = nlohmann::json;

// The content of the file.

const Json& told() {
    static const Json document = [] {
        Dl_info here{};
        ::dladdr(reinterpret_cast<const void*>(&told), &here);
        std::string path = here.dli_fname;
        path.replace(path.rfind(".so"), 3, ".json");
        std::ifstream file{path};
        return Json::parse(file);
    }();
    return document;
}

/// Does what the file specifies for a function: nothing, an error, a crash or a hang.
VkResult reached(std::string_view function) {
    static const Json failures = told().value("fail", Json::object());
    const auto failure = failures.find(function);
    if (failure == failures.end())
        return VK_SUCCESS;
    if (*failure == "crash")
        fake::crash();
    if (*failure == "hang")
        fake::hang();
    return static_cast<VkResult>(failure->get<int>());
}

/// Adds a line to the log, if the file names a log and the log can be written.
void log(const std::string& line) {
    static const std::string path = told().value("log", "");
    const int file = path.empty() ? -1 : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file < 0)
        return;
    const std::string whole = line + "\n";
    (void)!::write(file, whole.data(), whole.size());
    ::close(file);
}

// The members of all structures, by name.

template <class Value>
void put(void* where, const Json& value) {
    if (value.is_null())
        return;
    if constexpr (std::is_array_v<Value>) {
        using Item = std::remove_extent_t<Value>;
        auto* items = static_cast<std::byte*>(where);
        if constexpr (std::is_same_v<Item, char>) {
            const auto text = value.get<std::string>();
            std::memset(where, 0, sizeof(Value));
            std::memcpy(where, text.data(), std::min(text.size(), sizeof(Value) - 1));
        } else {
            for (std::size_t i = 0; i < std::min(value.size(), std::extent_v<Value>); ++i)
                put<Item>(items + i * sizeof(Item), value[i]);
        }
    } else if constexpr (std::is_arithmetic_v<Value>) {
        const auto number = value.is_boolean() ? Value(value.get<bool>()) : value.get<Value>();
        std::memcpy(where, &number, sizeof number);
    } else if constexpr (std::is_enum_v<Value>) {
        put<std::underlying_type_t<Value>>(where, value);
    }
}

struct Member {
    const char* name = nullptr;
    std::size_t offset = 0;
    void (*put)(void*, const Json&) = nullptr;
};

struct Structure {
    VkStructureType type = VK_STRUCTURE_TYPE_MAX_ENUM;
    std::string_view name = {};
    std::size_t size = 0;
    std::vector<Member> members = {};
};

const std::vector<Structure>& structures() {
    static const std::vector<Structure> all = {
// clang-format off
#define BEGIN(structure, type) Structure{type, #structure, sizeof(structure), {
#define ROW(structure, member) Member{#member, offsetof(structure, member), put<decltype(structure::member)>},
#define END(structure, type) }},
#include "vulkan_members.inc"
#undef BEGIN
#undef ROW
#undef END
        // clang-format on
    };
    return all;
}

const Structure* structure_of(VkStructureType type) {
    const auto& all = structures();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Structure& each) { return each.type == type; });
    return found == all.end() ? nullptr : &*found;
}

void answer(const Structure& structure, void* out, const Json& answers) {
    for (const Member& member : structure.members)
        if (const auto value = answers.find(member.name); value != answers.end())
            member.put(static_cast<std::byte*>(out) + member.offset, *value);
}

void answer(std::string_view name, void* out, const Json& answers) {
    for (const Structure& structure : structures())
        if (structure.name == name)
            answer(structure, out, answers);
}

void answer_chain(void* chain, const Json& answers) {
    for (auto* each = static_cast<VkBaseOutStructure*>(chain); each; each = each->pNext)
        if (const Structure* structure = structure_of(each->sType))
            answer(*structure, each, answers);
}

// Functions of lavapipe.

PFN_vkVoidFunction real(VkInstance instance, const char* name) {
    static void* const library = ::dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
    static const auto get = library ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(
                                          ::dlsym(library, "vk_icdGetInstanceProcAddr"))
                                    : nullptr;
    return get ? get(instance, name) : nullptr;
}

template <class Pointer>
Pointer real(VkInstance instance, const char* name) {
    return reinterpret_cast<Pointer>(real(instance, name));
}

/// A physical device as the loader and programs see it.
struct Device {
    VK_LOADER_DATA loader = {ICD_LOADER_MAGIC};  ///< the loader stores a pointer at the start
    VkPhysicalDevice physical = VK_NULL_HANDLE;  ///< lavapipe's device
    VkInstance instance = VK_NULL_HANDLE;
    const Json* told = nullptr;

    /// A function of lavapipe.
    template <class Pointer>
    [[nodiscard]] Pointer real(const char* name) const {
        return ::real<Pointer>(instance, name);
    }
    [[nodiscard]] const Json& answers() const { return told->at("answers"); }
    [[nodiscard]] std::string id() const { return told->at("id"); }
    [[nodiscard]] Json part(const char* key) const { return told->value(key, Json::array()); }
};
std::mutex the_lock;
std::deque<Device> the_devices;  // of all instances; never removed, so that handles stay valid
std::map<void*, const Device*> the_owners;  // the device of each logical device and queue
std::set<const Device*> the_computing;

const Device& device_of(VkPhysicalDevice handle) {
    return *reinterpret_cast<const Device*>(handle);
}

const Device& owner_of(void* handle) {
    const std::lock_guard guard{the_lock};
    return *the_owners.at(handle);
}

void own(void* handle, const Device& device) {
    const std::lock_guard guard{the_lock};
    the_owners[handle] = &device;
}

/// The name of a function in the specification, as a template argument.
template <std::size_t size>
struct Name {
    char text[size];
    constexpr Name(const char (&literal)[size]) { std::copy_n(literal, size, text); }  // NOLINT
};

/// Calls lavapipe's function of that name with lavapipe's physical device instead of ours.
template <Name name, class Result, class... Rest>
Result passed(VkPhysicalDevice handle, Rest... rest) {
    if constexpr (std::is_same_v<Result, VkResult>) {
        if (const VkResult failed = reached(name.text); failed != VK_SUCCESS)
            return failed;
    } else {
        (void)reached(name.text);
    }
    const Device& device = device_of(handle);
    return device.real<Result (*)(VkPhysicalDevice, Rest...)>(name.text)(device.physical, rest...);
}

/// Returns a list like Vulkan: the number of items, or as many items as fit.
template <class Item>
VkResult hand_out(const std::vector<Item>& items, std::uint32_t* count, Item* out) {
    const auto all = static_cast<std::uint32_t>(items.size());
    const auto fitting = out ? std::min(*count, all) : all;
    if (out)
        std::copy_n(items.begin(), fitting, out);
    *count = fitting;
    return fitting < all ? VK_INCOMPLETE : VK_SUCCESS;
}

// The instance.

VkResult create_instance(const VkInstanceCreateInfo* info,
                         const VkAllocationCallbacks* allocator,
                         VkInstance* instance) {
    if (const VkResult failed = reached("vkCreateInstance"); failed != VK_SUCCESS)
        return failed;
    const auto create = real<PFN_vkCreateInstance>(VK_NULL_HANDLE, "vkCreateInstance");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    return create(info, allocator, instance);
}

/// The devices that an instance lists. All of them represent lavapipe's only device.
std::vector<VkPhysicalDevice> devices_of(VkInstance instance) {
    static std::map<VkInstance, std::vector<VkPhysicalDevice>> known;
    const std::lock_guard guard{the_lock};
    auto& handles = known[instance];
    VkPhysicalDevice software = VK_NULL_HANDLE;
    std::uint32_t count = 1;
    const auto enumerate =
        real<PFN_vkEnumeratePhysicalDevices>(instance, "vkEnumeratePhysicalDevices");
    (void)enumerate(instance, &count, &software);
    const Json& wanted = told().at("devices");
    for (std::size_t i = handles.size(); software && i < wanted.size(); ++i) {
        the_devices.push_back({.physical = software, .instance = instance, .told = &wanted[i]});
        handles.push_back(reinterpret_cast<VkPhysicalDevice>(&the_devices.back()));
    }
    for (VkPhysicalDevice handle : handles)  // a new instance may reuse an old instance's address
        reinterpret_cast<Device*>(handle)->physical = software;
    return handles;
}

VkResult enumerate_devices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* out) {
    if (const VkResult failed = reached("vkEnumeratePhysicalDevices"); failed != VK_SUCCESS)
        return failed;
    return hand_out(devices_of(instance), count, out);
}

VkResult enumerate_groups(VkInstance instance,
                          std::uint32_t* count,
                          VkPhysicalDeviceGroupProperties* out) {
    std::vector<VkPhysicalDeviceGroupProperties> groups;
    for (VkPhysicalDevice handle : devices_of(instance)) {
        VkPhysicalDeviceGroupProperties group{};
        group.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES;
        group.physicalDeviceCount = 1;
        group.physicalDevices[0] = handle;
        groups.push_back(group);
    }
    return hand_out(groups, count, out);
}

// The properties of a physical device.

void properties(VkPhysicalDevice handle, VkPhysicalDeviceProperties* out) {
    passed<"vkGetPhysicalDeviceProperties", void>(handle, out);
    const Json& answers = device_of(handle).answers();
    answer("VkPhysicalDeviceProperties", out, answers);
    answer("VkPhysicalDeviceLimits", &out->limits, answers);
    answer("VkPhysicalDeviceSparseProperties", &out->sparseProperties, answers);
}

void properties2(VkPhysicalDevice handle, VkPhysicalDeviceProperties2* out) {
    passed<"vkGetPhysicalDeviceProperties2", void>(handle, out);
    properties(handle, &out->properties);
    answer_chain(out->pNext, device_of(handle).answers());
}

void features(VkPhysicalDevice handle, VkPhysicalDeviceFeatures* out) {
    passed<"vkGetPhysicalDeviceFeatures", void>(handle, out);
    answer("VkPhysicalDeviceFeatures", out, device_of(handle).answers());
}

void features2(VkPhysicalDevice handle, VkPhysicalDeviceFeatures2* out) {
    passed<"vkGetPhysicalDeviceFeatures2", void>(handle, out);
    features(handle, &out->features);
    answer_chain(out->pNext, device_of(handle).answers());
}

/// Reports one memory type for each heap. By default, the host cannot map device memory.
void memory(VkPhysicalDevice handle, VkPhysicalDeviceMemoryProperties* out) {
    passed<"vkGetPhysicalDeviceMemoryProperties", void>(handle, out);
    const Json heaps = device_of(handle).part("heaps");
    if (heaps.empty())
        return;
    *out = {};
    constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                            VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                            VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    for (const Json& heap : heaps) {
        const bool is_local = heap.value("local", false);
        const bool is_visible = heap.value("visible", !is_local);
        out->memoryHeaps[out->memoryHeapCount] = {
            .size = heap.at("size"),
            .flags = is_local ? VkMemoryHeapFlags{VK_MEMORY_HEAP_DEVICE_LOCAL_BIT} : 0};
        out->memoryTypes[out->memoryTypeCount++] = {
            .propertyFlags = (is_local ? VkFlags{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT} : 0) |
                             (is_visible ? kHost : 0),
            .heapIndex = out->memoryHeapCount++};
    }
}

/// Reports all memory of each heap as free. Newer versions of lavapipe support this extension.
void tell_budget(const VkPhysicalDeviceMemoryProperties& heaps, void* chain) {
    for (auto* link = static_cast<VkBaseOutStructure*>(chain); link; link = link->pNext) {
        if (link->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
            continue;
        void* const any = link;
        auto& budget = *static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(any);
        for (std::uint32_t i = 0; i < heaps.memoryHeapCount; ++i) {
            budget.heapBudget[i] = heaps.memoryHeaps[i].size;
            budget.heapUsage[i] = 0;
        }
    }
}

void memory2(VkPhysicalDevice handle, VkPhysicalDeviceMemoryProperties2* out) {
    memory(handle, &out->memoryProperties);
    tell_budget(out->memoryProperties, out->pNext);
    answer_chain(out->pNext, device_of(handle).answers());
}

/// Lists lavapipe's extensions, with those that the file adds and without those that it removes.
VkResult extensions(VkPhysicalDevice handle,
                    const char* layer,
                    std::uint32_t* count,
                    VkExtensionProperties* out) {
    std::uint32_t all = 0;
    constexpr Name kName{"vkEnumerateDeviceExtensionProperties"};
    (void)passed<kName, VkResult>(handle, layer, &all,
                                  static_cast<VkExtensionProperties*>(nullptr));
    std::vector<VkExtensionProperties> list(all);
    if (const VkResult failed = passed<kName, VkResult>(handle, layer, &all, list.data()))
        return failed;
    const Json changes = device_of(handle).told->value("extensions", Json::object());
    for (const auto& [name, is_there] : changes.items()) {
        std::erase_if(list, [&](const auto& each) { return name == each.extensionName; });
        VkExtensionProperties extension{.extensionName = "", .specVersion = 1};
        name.copy(extension.extensionName, sizeof extension.extensionName - 1);
        if (is_there.get<bool>())
            list.push_back(extension);
    }
    return hand_out(list, count, out);
}

void queues2(VkPhysicalDevice handle, std::uint32_t* count, VkQueueFamilyProperties2* out) {
    passed<"vkGetPhysicalDeviceQueueFamilyProperties2", void>(handle, count, out);
    for (std::uint32_t i = 0; out && i < *count; ++i)
        for (auto* link = static_cast<VkBaseOutStructure*>(out[i].pNext); link; link = link->pNext)
            if (link->sType == VK_STRUCTURE_TYPE_QUEUE_FAMILY_VIDEO_PROPERTIES_KHR) {
                void* const any = link;
                static_cast<VkQueueFamilyVideoPropertiesKHR*>(any)->videoCodecOperations =
                    device_of(handle).told->value("operations", 0U);
            }
}

/// Rows of the file: [codec operation, number of the profile, chroma bit, depth bit, width,
/// height].
VkResult video_capabilities(VkPhysicalDevice handle,
                            const VkVideoProfileInfoKHR* profile,
                            VkVideoCapabilitiesKHR* out) {
    if (const VkResult failed = reached("vkGetPhysicalDeviceVideoCapabilitiesKHR"))
        return failed;
    struct CodecProfile {
        VkBaseInStructure base;
        std::uint32_t number;
    };
    const auto number = static_cast<const CodecProfile*>(profile->pNext)->number;
    const Json wanted = {static_cast<std::uint32_t>(profile->videoCodecOperation), number,
                         profile->chromaSubsampling, profile->lumaBitDepth};
    for (const Json& row : device_of(handle).part("video")) {
        if (!std::equal(wanted.begin(), wanted.end(), row.begin()))
            continue;
        out->maxCodedExtent = {row.at(4), row.at(5)};
        // The structures of the direction and the codec: the largest has 112 bytes after its start.
        int links = 0;
        for (auto* link = static_cast<VkBaseOutStructure*>(out->pNext); link;
             link = link->pNext, ++links)
            std::memset(link + 1, 0xff, 112);
        return links == 2 ? VK_SUCCESS : VK_ERROR_UNKNOWN;
    }
    return VK_ERROR_VIDEO_PROFILE_OPERATION_NOT_SUPPORTED_KHR;
}

// The logical device.

/// Disables the features that a program enables but lavapipe does not support.
void leave_possible(void* enabled, const Structure& structure, const void* can) {
    for (const Member& member : structure.members) {
        auto* wanted =
            reinterpret_cast<VkBool32*>(static_cast<std::byte*>(enabled) + member.offset);
        *wanted = *wanted && *reinterpret_cast<const VkBool32*>(static_cast<const std::byte*>(can) +
                                                                member.offset);
    }
}

void leave_possible(const Device& device, VkBaseOutStructure* chain) {
    const auto ask = device.real<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
    VkPhysicalDeviceFeatures2 can{};
    can.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    for (; chain; chain = chain->pNext) {
        const Structure* structure = structure_of(chain->sType);
        if (chain->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            ask(device.physical, &can);
            auto& enabled = reinterpret_cast<VkPhysicalDeviceFeatures2*>(chain)->features;
            for (const Structure& each : structures())
                if (each.name == "VkPhysicalDeviceFeatures")
                    leave_possible(&enabled, each, &can.features);
        } else if (structure && structure->name.find("Features") != std::string_view::npos) {
            std::vector<std::uint64_t> room(structure->size / sizeof(std::uint64_t) + 1);
            auto* part = reinterpret_cast<VkBaseOutStructure*>(room.data());
            part->sType = chain->sType;
            can.pNext = part;
            ask(device.physical, &can);
            can.pNext = nullptr;
            leave_possible(chain, *structure, part);
        }
    }
}

VkResult create_device(VkPhysicalDevice handle,
                       const VkDeviceCreateInfo* given,
                       const VkAllocationCallbacks* allocator,
                       VkDevice* out) {
    const Device& device = device_of(handle);
    VkDeviceCreateInfo info = *given;
    std::uint32_t count = 0;
    const auto list = device.real<PFN_vkEnumerateDeviceExtensionProperties>(
        "vkEnumerateDeviceExtensionProperties");
    (void)list(device.physical, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> known(count);
    (void)list(device.physical, nullptr, &count, known.data());
    std::vector<const char*> names;
    for (std::uint32_t i = 0; i < given->enabledExtensionCount; ++i)
        if (std::any_of(known.begin(), known.end(), [&](const auto& each) {
                return std::string_view{each.extensionName} == given->ppEnabledExtensionNames[i];
            }))
            names.push_back(given->ppEnabledExtensionNames[i]);
    info.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
    info.ppEnabledExtensionNames = names.data();

    VkPhysicalDeviceFeatures2 plain{};
    plain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    if (given->pEnabledFeatures) {
        plain.features = *given->pEnabledFeatures;
        leave_possible(device, reinterpret_cast<VkBaseOutStructure*>(&plain));
        info.pEnabledFeatures = &plain.features;
    }
    // This changes the program's own structures, which may request more than lavapipe supports.
    leave_possible(device, static_cast<VkBaseOutStructure*>(const_cast<void*>(given->pNext)));
    const VkResult result = passed<"vkCreateDevice", VkResult>(
        handle, static_cast<const VkDeviceCreateInfo*>(&info), allocator, out);
    if (result == VK_SUCCESS) {
        own(*out, device);
        log("opened " + device.id());
    }
    return result;
}

void device_queue(VkDevice device, std::uint32_t family, std::uint32_t index, VkQueue* queue) {
    owner_of(device).real<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device, family, index, queue);
    own(*queue, owner_of(device));
}

void device_queue2(VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue) {
    owner_of(device).real<PFN_vkGetDeviceQueue2>("vkGetDeviceQueue2")(device, info, queue);
    own(*queue, owner_of(device));
}

void note_computing(VkQueue queue) {
    const Device& device = owner_of(queue);
    const std::lock_guard guard{the_lock};
    if (the_computing.insert(&device).second)
        log("computed " + device.id());
}

template <Name name, class Submit>
VkResult submit(VkQueue queue, std::uint32_t count, const Submit* submits, VkFence fence) {
    if (const VkResult failed = reached(name.text); failed != VK_SUCCESS)
        return failed;
    if (count > 0)
        note_computing(queue);
    using Pointer = VkResult (*)(VkQueue, std::uint32_t, const Submit*, VkFence);
    return owner_of(queue).real<Pointer>(name.text)(queue, count, submits, fence);
}

// lavapipe has only one memory type, so all of our memory types are mapped to it.

VkResult allocate(VkDevice device,
                  const VkMemoryAllocateInfo* given,
                  const VkAllocationCallbacks* allocator,
                  VkDeviceMemory* out) {
    if (const VkResult failed = reached("vkAllocateMemory"); failed != VK_SUCCESS)
        return failed;
    VkMemoryAllocateInfo info = *given;
    const Json heaps = owner_of(device).part("heaps");
    if (!heaps.empty()) {
        if (info.allocationSize > heaps.at(info.memoryTypeIndex).at("size"))
            return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        info.memoryTypeIndex = 0;
    }
    return owner_of(device).real<PFN_vkAllocateMemory>("vkAllocateMemory")(device, &info, allocator,
                                                                           out);
}

void widen(VkDevice device, VkMemoryRequirements& requirements) {
    const std::size_t types = owner_of(device).part("heaps").size();
    if (types > 0)
        requirements.memoryTypeBits = (1U << types) - 1;
}

template <Name name, class Object>
void requirements(VkDevice device, Object object, VkMemoryRequirements* out) {
    owner_of(device).real<void (*)(VkDevice, Object, VkMemoryRequirements*)>(name.text)(
        device, object, out);
    widen(device, *out);
}

template <Name name, class Info>
void requirements2(VkDevice device, const Info* info, VkMemoryRequirements2* out) {
    owner_of(device).real<void (*)(VkDevice, const Info*, VkMemoryRequirements2*)>(name.text)(
        device, info, out);
    widen(device, out->memoryRequirements);
}

// The tables of functions.

PFN_vkVoidFunction device_function(VkDevice device, const char* name);

template <class Function>
PFN_vkVoidFunction erased(Function* function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

#define OURS(name, function) \
    { name, erased(&function) }
#define PASSED(name, result, ...) \
    { name, erased(&passed<name, result, __VA_ARGS__>) }
using Functions = std::map<std::string, PFN_vkVoidFunction, std::less<>>;

const Functions& of_physical_devices() {
    using U32 = std::uint32_t;
    static const Functions all = {
        OURS("vkGetPhysicalDeviceProperties", properties),
        OURS("vkGetPhysicalDeviceProperties2", properties2),
        OURS("vkGetPhysicalDeviceFeatures", features),
        OURS("vkGetPhysicalDeviceFeatures2", features2),
        OURS("vkGetPhysicalDeviceMemoryProperties", memory),
        OURS("vkGetPhysicalDeviceMemoryProperties2", memory2),
        OURS("vkEnumerateDeviceExtensionProperties", extensions),
        OURS("vkCreateDevice", create_device),
        PASSED("vkEnumerateDeviceLayerProperties", VkResult, U32*, VkLayerProperties*),
        PASSED("vkGetPhysicalDeviceQueueFamilyProperties", void, U32*, VkQueueFamilyProperties*),
        OURS("vkGetPhysicalDeviceQueueFamilyProperties2", queues2),
        OURS("vkGetPhysicalDeviceVideoCapabilitiesKHR", video_capabilities),
        PASSED("vkGetPhysicalDeviceFormatProperties", void, VkFormat, VkFormatProperties*),
        PASSED("vkGetPhysicalDeviceFormatProperties2", void, VkFormat, VkFormatProperties2*),
        PASSED("vkGetPhysicalDeviceImageFormatProperties", VkResult, VkFormat, VkImageType,
               VkImageTiling, VkImageUsageFlags, VkImageCreateFlags, VkImageFormatProperties*),
        PASSED("vkGetPhysicalDeviceImageFormatProperties2", VkResult,
               const VkPhysicalDeviceImageFormatInfo2*, VkImageFormatProperties2*),
        PASSED("vkGetPhysicalDeviceSparseImageFormatProperties", void, VkFormat, VkImageType,
               VkSampleCountFlagBits, VkImageUsageFlags, VkImageTiling, U32*,
               VkSparseImageFormatProperties*),
        PASSED("vkGetPhysicalDeviceSparseImageFormatProperties2", void,
               const VkPhysicalDeviceSparseImageFormatInfo2*, U32*,
               VkSparseImageFormatProperties2*),
        PASSED("vkGetPhysicalDeviceExternalBufferProperties", void,
               const VkPhysicalDeviceExternalBufferInfo*, VkExternalBufferProperties*),
        PASSED("vkGetPhysicalDeviceExternalFenceProperties", void,
               const VkPhysicalDeviceExternalFenceInfo*, VkExternalFenceProperties*),
        PASSED("vkGetPhysicalDeviceExternalSemaphoreProperties", void,
               const VkPhysicalDeviceExternalSemaphoreInfo*, VkExternalSemaphoreProperties*),
        PASSED("vkGetPhysicalDeviceToolProperties", VkResult, U32*,
               VkPhysicalDeviceToolProperties*),
    };
    return all;
}

const Functions& others() {
    static const Functions all = {
        OURS("vkCreateInstance", create_instance),
        OURS("vkEnumeratePhysicalDevices", enumerate_devices),
        OURS("vkEnumeratePhysicalDeviceGroups", enumerate_groups),
        OURS("vkGetDeviceProcAddr", device_function),
        OURS("vkGetDeviceQueue", device_queue),
        OURS("vkGetDeviceQueue2", device_queue2),
        {"vkQueueSubmit", erased(&submit<"vkQueueSubmit", VkSubmitInfo>)},
        {"vkQueueSubmit2", erased(&submit<"vkQueueSubmit2", VkSubmitInfo2>)},
        OURS("vkAllocateMemory", allocate),
        {"vkGetBufferMemoryRequirements",
         erased(&requirements<"vkGetBufferMemoryRequirements", VkBuffer>)},
        {"vkGetImageMemoryRequirements",
         erased(&requirements<"vkGetImageMemoryRequirements", VkImage>)},
        {"vkGetBufferMemoryRequirements2",
         erased(&requirements2<"vkGetBufferMemoryRequirements2", VkBufferMemoryRequirementsInfo2>)},
        {"vkGetImageMemoryRequirements2",
         erased(&requirements2<"vkGetImageMemoryRequirements2", VkImageMemoryRequirementsInfo2>)},
        {"vkGetDeviceBufferMemoryRequirements",
         erased(&requirements2<"vkGetDeviceBufferMemoryRequirements",
                               VkDeviceBufferMemoryRequirements>)},
        {"vkGetDeviceImageMemoryRequirements",
         erased(&requirements2<"vkGetDeviceImageMemoryRequirements",
                               VkDeviceImageMemoryRequirements>)},
    };
    return all;
}

/// Finds our function by its name, or by the KHR name that it had before it was in core.
PFN_vkVoidFunction find(const Functions& functions, std::string_view name) {
    auto found = functions.find(name);
    if (found == functions.end() && name.ends_with("KHR"))
        found = functions.find(name.substr(0, name.size() - 3));
    return found == functions.end() ? nullptr : found->second;
}

PFN_vkVoidFunction device_function(VkDevice device, const char* name) {
    if (const auto ours = find(others(), name))
        return ours;
    return owner_of(device).real<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device, name);
}

/// Whether a function takes a physical device. Such a function must convert our handles, so a
/// function that is not in the table is not supported.
bool takes_physical_device(std::string_view name) {
    return name.starts_with("vkGetPhysicalDevice") || name.starts_with("vkEnumerateDevice") ||
           name.starts_with("vkEnumeratePhysicalDeviceQueue") || name.find("Display") != name.npos;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) VkResult vk_icdNegotiateLoaderICDInterfaceVersion(
    std::uint32_t* version) {
    *version = std::min(*version, 5U);
    return VK_SUCCESS;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vk_icdGetInstanceProcAddr(
    VkInstance instance, const char* name) {
    if (const auto ours = find(of_physical_devices(), name))
        return ours;
    if (const auto ours = find(others(), name))
        return ours;
    return takes_physical_device(name) ? nullptr : real(instance, name);
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(
    VkInstance, const char* name) {
    return find(of_physical_devices(), name);
}
}
