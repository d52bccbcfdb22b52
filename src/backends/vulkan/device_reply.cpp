// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/device_reply.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace gpuprobe::backends {
namespace {

/// Builds a pNext chain of the structures that the device offers.
class Chain {
public:
    explicit Chain(const DeviceReply& reply) : reply_{reply} {}

    /// Creates a zeroed structure in `slot` and adds it to the chain, if the device offers it.
    template <class Structure>
    void add(std::optional<Structure>& slot, VkStructureType type, const Origin& origin) {
        if (!reply_.offers(origin))
            return;
        slot.emplace(Structure{});
        slot->sType = type;
        slot->pNext = head_;
        head_ = &*slot;
    }
    [[nodiscard]] void* head() const { return head_; }

private:
    const DeviceReply& reply_;
    void* head_ = nullptr;
};

/// The device's extensions. Asks once with a large buffer instead of asking for the count first.
std::optional<std::vector<std::string>> ask_extensions(const InstanceSymbols& vulkan,
                                                       VkPhysicalDevice device) {
    std::vector<VkExtensionProperties> list(kMaxExtensions);
    auto count = kMaxExtensions;
    const VkResult result = vulkan.extensions(device, nullptr, &count, list.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return std::nullopt;
    list.resize(std::min(count, kMaxExtensions));
    return extension_names(list);
}

std::vector<VkQueueFamilyProperties> ask_queues(const InstanceSymbols& vulkan,
                                                VkPhysicalDevice device) {
    std::vector<VkQueueFamilyProperties> queues(kMaxQueueFamilies);
    auto count = kMaxQueueFamilies;
    vulkan.queues(device, &count, queues.data());
    queues.resize(std::min(count, kMaxQueueFamilies));
    return queues;
}

/// Queries all properties that come in a pNext chain.
void ask_properties(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply) {
    Chain chain{reply};
    chain.add(reply.identity, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, origin::kIdentity);
    chain.add(reply.driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, origin::kDriver);
    chain.add(reply.pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT,
              origin::kPciBusInfo);
    chain.add(reply.drm, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT, origin::kDrm);
    chain.add(reply.subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
              origin::kSubgroup);
    chain.add(reply.subgroup_size,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
              origin::kSubgroupSize);
    chain.add(reply.maintenance3, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
              origin::kMaintenance3);
    chain.add(reply.maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
              origin::kMaintenance4);
    chain.add(reply.dot_product,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
              origin::kDotProduct);
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = chain.head();
    vulkan.properties2(device, &properties);
}

/// Queries all features that come in a pNext chain.
void ask_features(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply) {
    Chain chain{reply};
    chain.add(reply.storage16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
              origin::kStorage16);
    chain.add(reply.storage8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
              origin::kStorage8);
    chain.add(reply.float16_int8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
              origin::kFloat16Int8);
    chain.add(reply.dot_product_feature,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
              origin::kDotProduct);
    chain.add(reply.matrix_feature, kCooperativeMatrixFeaturesType, origin::kCooperativeMatrix);
    chain.add(reply.bfloat16, kShaderBfloat16FeaturesType, origin::kBfloat16);
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = chain.head();
    vulkan.features2(device, &features);
}

/// Queries the memory budget. The heaps themselves are known already.
void ask_memory(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply) {
    Chain chain{reply};
    chain.add(reply.budget, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
              origin::kMemoryBudget);
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = chain.head();
    vulkan.memory2(device, &memory);
}

/// Queries the supported sizes of cooperative matrices.
void ask_matrices(const InstanceSymbols& vulkan, VkPhysicalDevice device, DeviceReply& reply) {
    const bool has_matrices = reply.matrix_feature && reply.matrix_feature->cooperativeMatrix;
    if (!has_matrices || !vulkan.cooperative_matrices)
        return;
    // Every element of the array needs its structure type.
    CooperativeMatrixProperties blank{};
    blank.sType = kCooperativeMatrixPropertiesType;
    std::vector<CooperativeMatrixProperties> list(kMaxCooperativeMatrices, blank);
    auto count = kMaxCooperativeMatrices;
    const VkResult result = vulkan.cooperative_matrices(device, &count, list.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return;
    list.resize(std::min(count, kMaxCooperativeMatrices));
    reply.matrices = std::move(list);
}

}  // namespace

bool DeviceReply::lists(const char* extension) const {
    return extensions &&
           std::binary_search(extensions->begin(), extensions->end(), std::string{extension});
}

bool DeviceReply::offers(const Origin& origin) const {
    if (!has_chains)
        return false;
    // An instance of an older version must not use newer core structures.
    const auto version = std::min(properties.apiVersion, instance_version);
    return (origin.core != 0 && version >= origin.core) || lists(origin.extension);
}

bool DeviceReply::lacks(const Origin& origin) const {
    // Unlike offers(), this ignores the instance: it is about the device.
    const bool is_core = origin.core != 0 && properties.apiVersion >= origin.core;
    return extensions && !is_core && !lists(origin.extension);
}

DeviceReply ask_device(const InstanceSymbols& vulkan,
                       VkPhysicalDevice device,
                       std::uint32_t index,
                       std::uint32_t instance_version) {
    DeviceReply reply;
    reply.index = index;
    reply.instance_version = instance_version;
    reply.has_chains = vulkan.has_chains();
    vulkan.properties(device, &reply.properties);
    vulkan.features(device, &reply.features);
    vulkan.memory(device, &reply.memory);
    reply.extensions = ask_extensions(vulkan, device);
    reply.queues = ask_queues(vulkan, device);
    // Plain Vulkan 1.0: the rest stays nullopt. The extensions must be known before any chain is
    // built.
    if (!reply.has_chains)
        return reply;
    ask_properties(vulkan, device, reply);
    ask_features(vulkan, device, reply);
    ask_memory(vulkan, device, reply);
    ask_matrices(vulkan, device, reply);
    return reply;
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
