// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "backends/driver_library.h"
#include "backends/vulkan/compute.h"
#include "backends/vulkan/device_reply.h"
#include "backends/vulkan/vulkan_names.h"

namespace gpuprobe::backends {
namespace {

/// The reason code for a result.
const char* reason_of(VkResult result) {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_FRAGMENTATION:
            return "out-of-memory";
        case VK_ERROR_DEVICE_LOST:
            return "device-lost";
        case VK_TIMEOUT:
            return "dispatch-timed-out";
        default:
            return "api-refused";
    }
}

/// The index of the first queue family that can compute.
std::optional<std::uint32_t> compute_family(const PhysicalDevice& device) {
    std::vector<VkQueueFamilyProperties> families(kMaxQueueFamilies);
    auto count = kMaxQueueFamilies;
    device.vulkan.queues(device.device, &count, families.data());
    families.resize(std::min(count, kMaxQueueFamilies));
    for (std::uint32_t i = 0; i < families.size(); ++i)
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && families[i].queueCount > 0)
            return i;
    return std::nullopt;
}

/// The extensions and features that the kernels for 16-bit floats and bytes need, if the device has
/// them.
class Wishes {
public:
    explicit Wishes(const DeviceFacts& facts) : facts_{facts} {
        half_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
        half_.shaderFloat16 = VK_TRUE;
        dot_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
        dot_.shaderIntegerDotProduct = VK_TRUE;
        want("shader_float16", origin::kFloat16Int8, half_);
        want("integer_dot_product", origin::kDotProduct, dot_);
        // If a device lists this extension, it must be enabled;
        // VUID-VkDeviceCreateInfo-pProperties-04451.
        if (lists("VK_KHR_portability_subset"))
            extensions_.push_back("VK_KHR_portability_subset");
    }
    /// Points `info` to this object, which must outlive the call of vkCreateDevice.
    void fill(VkDeviceCreateInfo& info) const {
        info.pNext = chain_;
        info.enabledExtensionCount = static_cast<std::uint32_t>(extensions_.size());
        info.ppEnabledExtensionNames = extensions_.data();
    }

private:
    [[nodiscard]] bool lists(const char* extension) const {
        const auto* list = facts_.extra.at("extensions").as_array();
        return list && std::ranges::find(*list, Value{extension}) != list->end();
    }
    /// Enables a feature if the device has it according to its facts, with its extension if the
    /// device lists it.
    template <class Feature>
    void want(const char* fact, const Origin& origin, Feature& feature) {
        if (facts_.extra.at(fact).as_bool() != true)
            return;
        if (lists(origin.extension))
            extensions_.push_back(origin.extension);
        feature.pNext = chain_;
        chain_ = &feature;
    }

    const DeviceFacts& facts_;
    std::vector<const char*> extensions_ = {};
    void* chain_ = nullptr;
    VkPhysicalDeviceShaderFloat16Int8Features half_ = {};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_ = {};
};

}  // namespace

Attempt<LogicalDevice> make_logical_device(const PhysicalDevice& device, const DeviceFacts& facts) {
    const auto family = compute_family(device);
    if (!family)
        return Refusal{.code = "no-compute-queue", .note = "no queue of the device computes"};
    const float priority = 0;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = *family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    const Wishes wishes{facts};
    wishes.fill(info);
    VkDevice made = VK_NULL_HANDLE;
    (void)TRY(
        call(vulkan_refusal, device.vulkan.create_device, device.device, &info, nullptr, &made));
    // Look the functions up for this device, which skips the loader's dispatch.
    const auto find = [made, function = device.vulkan.device_function](const char* name) {
        return function(made, name);
    };
    const auto vulkan = TRY(compute_functions<DeviceSymbols>(find));
    const auto destroy = [destroy = vulkan.destroy_device](VkDevice one) { destroy(one, nullptr); };
    return LogicalDevice{.vulkan = vulkan, .device = {made, destroy}, .queue_family = *family};
}

Refusal vulkan_refusal(std::string_view function, VkResult result) {
    return refused_call(reason_of(result), function, result_name(result), result);
}

}  // namespace gpuprobe::backends
