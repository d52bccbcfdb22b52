// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/vulkan_names.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "backends/texts.h"

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

/// VkDriverId.
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

/// VkComponentTypeKHR. The large numbers come from extensions.
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

/// VkScopeKHR.
constexpr std::array kScopes = {
    NumberWord{1, "device"},
    NumberWord{2, "workgroup"},
    NumberWord{3, "subgroup"},
    NumberWord{5, "queue-family"},
};

/// VkQueueFlagBits. The plain numbers come from extensions.
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
    // Without a driver id, assume that an NVIDIA GPU has NVIDIA's driver.
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

}  // namespace gpuprobe::backends
