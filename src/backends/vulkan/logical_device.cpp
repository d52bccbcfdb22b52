// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/logical_device.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backends/vulkan/device_query.h"
#include "backends/vulkan/device_reply.h"

namespace gpuprobe::backends {
namespace {

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

/// The extensions and features of the kernels for halves and bytes, where the device has them.
class Wishes {
public:
    explicit Wishes(const DeviceFacts& facts) : facts_{facts} {
        half_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
        half_.shaderFloat16 = VK_TRUE;
        dot_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
        dot_.shaderIntegerDotProduct = VK_TRUE;
        want("shader_float16", origin::kFloat16Int8, half_);
        want("integer_dot_product", origin::kDotProduct, dot_);
        // A device that lists it must be created with it;
        // VUID-VkDeviceCreateInfo-pProperties-04451.
        if (lists("VK_KHR_portability_subset"))
            extensions_.push_back("VK_KHR_portability_subset");
    }
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

Attempt<LogicalDevice> LogicalDevice::create(const PhysicalDevice& device,
                                             const DeviceFacts& facts) {
    const auto family = compute_family(device);
    if (!family)
        return Refusal{.code = "no-compute-queue", .note = "no queue of the device computes"};
    const auto maker = load_device_maker(device.loader, device.instance);
    if (!maker)
        return Refusal{.code = "api-refused", .note = maker.error().text};
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
    const VkResult result = maker->create(device.device, &info, nullptr, &made);
    if (result != VK_SUCCESS)
        return vulkan_refusal("vkCreateDevice", result);
    const auto vulkan = load_compute(*maker, made);
    if (!vulkan)
        return Refusal{.code = "api-refused", .note = vulkan.error().text};
    return LogicalDevice{made, *vulkan, *family};
}

LogicalDevice::LogicalDevice(LogicalDevice&& other) noexcept
    : device_{std::exchange(other.device_, VK_NULL_HANDLE)},
      vulkan_{other.vulkan_},
      family_{other.family_} {}

LogicalDevice::~LogicalDevice() {
    if (device_)
        vulkan_.destroy_device(device_, nullptr);
}

VkQueue LogicalDevice::queue() const {
    VkQueue queue = VK_NULL_HANDLE;
    vulkan_.queue(device_, family_, 0, &queue);
    return queue;
}

}  // namespace gpuprobe::backends
