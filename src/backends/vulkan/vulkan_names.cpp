// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/vulkan_names.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "backends/hexadecimal.h"

namespace gpuprobe::backends {
namespace {

struct Word {
    std::int64_t number = 0;
    std::string_view word = {};
};

constexpr std::array kResults = {
    Word{VK_SUCCESS, "VK_SUCCESS"},
    Word{VK_NOT_READY, "VK_NOT_READY"},
    Word{VK_TIMEOUT, "VK_TIMEOUT"},
    Word{VK_INCOMPLETE, "VK_INCOMPLETE"},
    Word{VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    Word{VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    Word{VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
    Word{VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
    Word{VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
    Word{VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
    Word{VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    Word{VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
    Word{VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    Word{VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
    Word{VK_ERROR_FORMAT_NOT_SUPPORTED, "VK_ERROR_FORMAT_NOT_SUPPORTED"},
    Word{VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL"},
    Word{VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
    Word{VK_ERROR_NOT_PERMITTED_KHR, "VK_ERROR_NOT_PERMITTED"},
};

constexpr std::array kDrivers = {
    Word{1, "amd-proprietary"},
    Word{2, "amd-open-source"},
    Word{3, "mesa-radv"},
    Word{4, "nvidia-proprietary"},
    Word{5, "intel-proprietary-windows"},
    Word{6, "intel-open-source-mesa"},
    Word{7, "imagination-proprietary"},
    Word{8, "qualcomm-proprietary"},
    Word{9, "arm-proprietary"},
    Word{10, "google-swiftshader"},
    Word{11, "ggp-proprietary"},
    Word{12, "broadcom-proprietary"},
    Word{13, "mesa-llvmpipe"},
    Word{14, "moltenvk"},
    Word{15, "coreavi-proprietary"},
    Word{16, "juice-proprietary"},
    Word{17, "verisilicon-proprietary"},
    Word{18, "mesa-turnip"},
    Word{19, "mesa-v3dv"},
    Word{20, "mesa-panvk"},
    Word{21, "samsung-proprietary"},
    Word{22, "mesa-venus"},
    Word{23, "mesa-dozen"},
    Word{24, "mesa-nvk"},
    Word{25, "imagination-open-source-mesa"},
    Word{26, "mesa-honeykrisp"},
    Word{27, "vulkan-sc-emulation-on-vulkan"},
    Word{28, "mesa-kosmickrisp"},
};

constexpr std::array kComponents = {
    Word{0, "float16"},
    Word{1, "float32"},
    Word{2, "float64"},
    Word{3, "sint8"},
    Word{4, "sint16"},
    Word{5, "sint32"},
    Word{6, "sint64"},
    Word{7, "uint8"},
    Word{8, "uint16"},
    Word{9, "uint32"},
    Word{10, "uint64"},
    Word{1000141000, "bfloat16"},
    Word{1000491002, "float8-e4m3"},
    Word{1000491003, "float8-e5m2"},
};

constexpr std::array kScopes = {
    Word{1, "device"},
    Word{2, "workgroup"},
    Word{3, "subgroup"},
    Word{5, "queue-family"},
};

constexpr std::array kQueueFlags = {
    Word{VK_QUEUE_GRAPHICS_BIT, "graphics"},
    Word{VK_QUEUE_COMPUTE_BIT, "compute"},
    Word{VK_QUEUE_TRANSFER_BIT, "transfer"},
    Word{VK_QUEUE_SPARSE_BINDING_BIT, "sparse-binding"},
    Word{VK_QUEUE_PROTECTED_BIT, "protected"},
    Word{0x20, "video-decode"},
    Word{0x40, "video-encode"},
    Word{0x100, "optical-flow"},
};

constexpr std::array kSubgroupOperations = {
    Word{VK_SUBGROUP_FEATURE_BASIC_BIT, "basic"},
    Word{VK_SUBGROUP_FEATURE_VOTE_BIT, "vote"},
    Word{VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "arithmetic"},
    Word{VK_SUBGROUP_FEATURE_BALLOT_BIT, "ballot"},
    Word{VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "shuffle"},
    Word{VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "shuffle-relative"},
    Word{VK_SUBGROUP_FEATURE_CLUSTERED_BIT, "clustered"},
    Word{VK_SUBGROUP_FEATURE_QUAD_BIT, "quad"},
};

std::optional<std::string> word_for(std::span<const Word> words, std::int64_t number) {
    for (const Word& entry : words)
        if (entry.number == number)
            return std::string{entry.word};
    return std::nullopt;
}

std::string word_or_number(std::span<const Word> words, std::uint32_t number) {
    return word_for(words, number).value_or(std::to_string(number));
}

Value words_of_bits(std::span<const Word> words, std::uint32_t bits) {
    Value::Array found;
    for (const Word& entry : words)
        if ((bits & static_cast<std::uint32_t>(entry.number)) != 0)
            found.push_back(Value{entry.word});
    return Value{std::move(found)};
}

std::string dotted(std::initializer_list<std::uint32_t> parts) {
    std::string text;
    for (const std::uint32_t part : parts)
        text += (text.empty() ? "" : ".") + std::to_string(part);
    return text;
}

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
    const bool is_proprietary =
        driver_id ? *driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY : vendor_id == kNvidiaVendor;
    if (!is_proprietary || driver_id == kMesaNvk)
        return api_version_text(version);
    const std::uint32_t major = version >> 22;
    const std::uint32_t minor = (version >> 14) & 0xff;
    const std::uint32_t secondary = (version >> 6) & 0xff;
    const std::uint32_t tertiary = version & 0x3f;
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

std::optional<std::string> uuid_text(const std::uint8_t (&bytes)[VK_UUID_SIZE]) {
    return canonical_uuid(bytes);
}

std::optional<std::string> luid_text(const std::uint8_t (&bytes)[VK_LUID_SIZE]) {
    return hexadecimal_unless_zero(bytes);
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
