// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/api.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "backends/texts.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::array kResults = {
    NumberWord{VK_SUCCESS, "VK_SUCCESS"},
    NumberWord{VK_NOT_READY, "VK_NOT_READY"},
    NumberWord{VK_TIMEOUT, "VK_TIMEOUT"},
    NumberWord{VK_INCOMPLETE, "VK_INCOMPLETE"},
    NumberWord{VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    NumberWord{VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    NumberWord{VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
    NumberWord{VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
    NumberWord{VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
    NumberWord{VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
    NumberWord{VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    NumberWord{VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
    NumberWord{VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    NumberWord{VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
    NumberWord{VK_ERROR_FORMAT_NOT_SUPPORTED, "VK_ERROR_FORMAT_NOT_SUPPORTED"},
    NumberWord{VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL"},
    NumberWord{VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
    NumberWord{VK_ERROR_NOT_PERMITTED_KHR, "VK_ERROR_NOT_PERMITTED"},
};

/// The words for VkDriverId.
constexpr std::array kDrivers = {
    NumberWord{1, "amd-proprietary"},
    NumberWord{2, "amd-open-source"},
    NumberWord{3, "mesa-radv"},
    NumberWord{4, "nvidia-proprietary"},
    NumberWord{5, "intel-proprietary-windows"},
    NumberWord{6, "intel-open-source-mesa"},
    NumberWord{7, "imagination-proprietary"},
    NumberWord{8, "qualcomm-proprietary"},
    NumberWord{9, "arm-proprietary"},
    NumberWord{10, "google-swiftshader"},
    NumberWord{11, "ggp-proprietary"},
    NumberWord{12, "broadcom-proprietary"},
    NumberWord{13, "mesa-llvmpipe"},
    NumberWord{14, "moltenvk"},
    NumberWord{15, "coreavi-proprietary"},
    NumberWord{16, "juice-proprietary"},
    NumberWord{17, "verisilicon-proprietary"},
    NumberWord{18, "mesa-turnip"},
    NumberWord{19, "mesa-v3dv"},
    NumberWord{20, "mesa-panvk"},
    NumberWord{21, "samsung-proprietary"},
    NumberWord{22, "mesa-venus"},
    NumberWord{23, "mesa-dozen"},
    NumberWord{24, "mesa-nvk"},
    NumberWord{25, "imagination-open-source-mesa"},
    NumberWord{26, "mesa-honeykrisp"},
    NumberWord{27, "vulkan-sc-emulation-on-vulkan"},
    NumberWord{28, "mesa-kosmickrisp"},
};

/// The words for VkComponentTypeKHR. The large numbers come from extensions.
constexpr std::array kComponents = {
    NumberWord{0, "float16"},
    NumberWord{1, "float32"},
    NumberWord{2, "float64"},
    NumberWord{3, "sint8"},
    NumberWord{4, "sint16"},
    NumberWord{5, "sint32"},
    NumberWord{6, "sint64"},
    NumberWord{7, "uint8"},
    NumberWord{8, "uint16"},
    NumberWord{9, "uint32"},
    NumberWord{10, "uint64"},
    NumberWord{1000141000, "bfloat16"},
    NumberWord{1000491002, "float8-e4m3"},
    NumberWord{1000491003, "float8-e5m2"},
};

/// The words for VkScopeKHR.
constexpr std::array kScopes = {
    NumberWord{1, "device"},
    NumberWord{2, "workgroup"},
    NumberWord{3, "subgroup"},
    NumberWord{5, "queue-family"},
};

/// The words for VkQueueFlagBits. The bits that are written as numbers come from extensions.
constexpr std::array kQueueFlags = {
    NumberWord{VK_QUEUE_GRAPHICS_BIT, "graphics"},
    NumberWord{VK_QUEUE_COMPUTE_BIT, "compute"},
    NumberWord{VK_QUEUE_TRANSFER_BIT, "transfer"},
    NumberWord{VK_QUEUE_SPARSE_BINDING_BIT, "sparse-binding"},
    NumberWord{VK_QUEUE_PROTECTED_BIT, "protected"},
    NumberWord{0x20, "video-decode"},
    NumberWord{0x40, "video-encode"},
    NumberWord{0x100, "optical-flow"},
};

constexpr std::array kSubgroupOperations = {
    NumberWord{VK_SUBGROUP_FEATURE_BASIC_BIT, "basic"},
    NumberWord{VK_SUBGROUP_FEATURE_VOTE_BIT, "vote"},
    NumberWord{VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "arithmetic"},
    NumberWord{VK_SUBGROUP_FEATURE_BALLOT_BIT, "ballot"},
    NumberWord{VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "shuffle"},
    NumberWord{VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "shuffle-relative"},
    NumberWord{VK_SUBGROUP_FEATURE_CLUSTERED_BIT, "clustered"},
    NumberWord{VK_SUBGROUP_FEATURE_QUAD_BIT, "quad"},
};

constexpr std::uint32_t kNvidiaVendor = 0x10de;
constexpr std::uint32_t kMesaNvk = 24;

}  // namespace

std::string result_name(VkResult result) {
    return word_for(kResults, result).value_or("VkResult " + std::to_string(int{result}));
}

std::string driver_word(std::uint32_t driver_id) {
    return word_or_number(kDrivers, driver_id);
}

std::string api_version_text(std::uint32_t version) {
    const std::uint32_t variant = VK_API_VERSION_VARIANT(version);
    return (variant == 0 ? "" : std::to_string(variant) + ":") +
           dotted({VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                   VK_API_VERSION_PATCH(version)});
}

std::string driver_version_text(std::uint32_t version,
                                std::uint32_t vendor_id,
                                std::optional<std::uint32_t> driver_id) {
    // If there is no driver id, assume that an NVIDIA GPU has NVIDIA's driver.
    const bool is_proprietary =
        driver_id ? *driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY : vendor_id == kNvidiaVendor;
    if (!is_proprietary || driver_id == kMesaNvk)
        return api_version_text(version);
    const std::uint32_t major = version >> 22;
    const std::uint32_t minor = (version >> 14) & 0xff;
    const std::uint32_t secondary = (version >> 6) & 0xff;
    const std::uint32_t tertiary = version & 0x3f;
    // NVIDIA writes "550.07" and leaves out trailing zeros.
    const auto two_digits = [](std::uint32_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    const std::string text = std::to_string(major) + "." + two_digits(minor);
    if (secondary == 0 && tertiary == 0)
        return text;
    return text + "." + two_digits(secondary) + (tertiary == 0 ? "" : "." + two_digits(tertiary));
}

std::optional<DeviceType> device_type(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return DeviceType::Discrete;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return DeviceType::Integrated;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return DeviceType::Virtual;
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return DeviceType::Cpu;
        case VK_PHYSICAL_DEVICE_TYPE_OTHER:
            return DeviceType::Other;
        default:
            return std::nullopt;
    }
}

std::string component_word(std::uint32_t type) {
    return word_or_number(kComponents, type);
}

std::string scope_word(std::uint32_t scope) {
    return word_or_number(kScopes, scope);
}

Value queue_flag_words(VkQueueFlags flags) {
    return words_of_bits(kQueueFlags, flags);
}

Value subgroup_operation_words(VkSubgroupFeatureFlags operations) {
    return words_of_bits(kSubgroupOperations, operations);
}

namespace {

/// Builds a pNext chain of the structures that the device offers.
class Chain {
public:
    explicit Chain(const DeviceReply& reply) : reply_{reply} {}

    /// If the device offers the structure, creates a zeroed structure in `slot` and adds it to the
    /// chain.
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

/// The device's extensions. The function queries once with a large buffer instead of querying the
/// count first.
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
    // Unlike offers(), this function ignores the instance, because only the device matters.
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
    // Only Vulkan 1.0 is available, so all other members stay nullopt. The extensions must be known
    // before a chain is built.
    if (!reply.has_chains)
        return reply;
    ask_properties(vulkan, device, reply);
    ask_features(vulkan, device, reply);
    ask_memory(vulkan, device, reply);
    ask_matrices(vulkan, device, reply);
    ask_video(vulkan, device, reply);
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
