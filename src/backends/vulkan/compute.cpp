// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/compute.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/compute/device.h"
#include "backends/nvml/nvidia_gpu.h"
#include "backends/vulkan/device_object.h"
#include "backends/vulkan/logical_device.h"
#include "base/result.h"
#include "check.spv.h"
#include "copy.spv.h"
#include "fill.spv.h"
#include "fp16.spv.h"
#include "fp32.spv.h"
#include "int8.spv.h"
#include "read.spv.h"

namespace gpuprobe::backends {
namespace {

using Shader = std::span<const std::uint32_t>;

Shader shader_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::Check:
            return shader_check;
        case Kernel::Fill:
            return shader_fill;
        case Kernel::Read:
            return shader_read;
        case Kernel::Copy:
            return shader_copy;
        case Kernel::Fp32:
            return shader_fp32;
        case Kernel::Fp16:
            return shader_fp16;
        case Kernel::Int8:
            return shader_int8;
    }
    return {};
}

/// Everything before is seen by everything after, by the host too.
constexpr VkMemoryBarrier kAllMemory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                        VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
                                        VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT};
constexpr VkPipelineStageFlags kAllStages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

struct Allocation {
    DeviceObject<VkDeviceMemory> memory = {};
    DeviceObject<VkBuffer> buffer = {};  // after its memory: it goes first
};

class VulkanDevice final : public ComputeDevice {
public:
    VulkanDevice(const PhysicalDevice& physical, LogicalDevice device, const ComputeLimits& limits)
        : ComputeDevice{limits}, device_{std::move(device)}, waiting_{waiting_for(limits.is_cpu)} {
        physical.vulkan.memory(physical.device, &memories_);
    }

    Attempt<Done> open();
    Attempt<Done> allocate(Bytes size, Bytes staging) override;
    Attempt<Done> prepare(Kernel kernel) override;
    Attempt<Done> transfer(Direction direction,
                           Buffer buffer,
                           Bytes size,
                           std::uint32_t times) override;
    Attempt<Done> run(const Work& work) override;

private:
    template <class Handle, class Create, class Info>
    Attempt<DeviceObject<Handle>> make(const char* call,
                                       Create create,
                                       typename DeviceObject<Handle>::Destroy destroy,
                                       const Info& info);
    Attempt<Done> make_layout();
    Attempt<Done> make_commands();
    Attempt<Done> make_sets();
    /// Memory with the first set of these properties that the device has for the buffer.
    Attempt<Allocation> allocation(Bytes size, std::span<const VkMemoryPropertyFlags> wishes);
    [[nodiscard]] std::optional<std::uint32_t> memory_type(std::uint32_t allowed,
                                                           VkMemoryPropertyFlags wanted) const;
    Attempt<Done> begin();
    void separate();
    /// Submits what was recorded, and waits for it.
    Attempt<Done> finish();

    // In this order: what comes later goes first, the device last.
    LogicalDevice device_;
    Waiting waiting_;
    VkPhysicalDeviceMemoryProperties memories_ = {};
    DeviceObject<VkDescriptorSetLayout> set_layout_ = {};
    DeviceObject<VkPipelineLayout> layout_ = {};
    DeviceObject<VkDescriptorPool> set_pool_ = {};
    DeviceObject<VkCommandPool> command_pool_ = {};
    DeviceObject<VkFence> fence_ = {};
    VkCommandBuffer commands_ = VK_NULL_HANDLE;  ///< the pool's
    std::array<VkDescriptorSet, 2> sets_ = {};   ///< by Work::from; the pool's
    std::array<Allocation, 2> buffers_ = {};
    Allocation host_ = {};
    std::array<DeviceObject<VkPipeline>, kKernels> pipelines_ = {};
};

template <class Handle, class Create, class Info>
Attempt<DeviceObject<Handle>> VulkanDevice::make(const char* call,
                                                 Create create,
                                                 typename DeviceObject<Handle>::Destroy destroy,
                                                 const Info& info) {
    Handle handle = {};
    const VkResult result = create(device_.get(), &info, nullptr, &handle);
    if (result != VK_SUCCESS)
        return vulkan_refusal(call, result);
    return DeviceObject<Handle>{device_.get(), handle, destroy};
}

Attempt<Done> VulkanDevice::open() {
    (void)TRY(make_layout());
    return make_commands();
}

Attempt<Done> VulkanDevice::make_layout() {
    const auto& vulkan = device_.vulkan();
    std::array<VkDescriptorSetLayoutBinding, 2> bindings = {};
    for (std::uint32_t i = 0; i < bindings.size(); ++i)
        bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                       nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = bindings.size();
    set.pBindings = bindings.data();
    set_layout_ = TRY(make<VkDescriptorSetLayout>(
        "vkCreateDescriptorSetLayout", vulkan.create_set_layout, vulkan.destroy_set_layout, set));
    const VkPushConstantRange arguments{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(KernelArguments)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = set_layout_.address();
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &arguments;
    layout_ = TRY(make<VkPipelineLayout>("vkCreatePipelineLayout", vulkan.create_pipeline_layout,
                                         vulkan.destroy_pipeline_layout, layout));
    return Done{};
}

Attempt<Done> VulkanDevice::make_commands() {
    const auto& vulkan = device_.vulkan();
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device_.queue_family();
    command_pool_ = TRY(make<VkCommandPool>("vkCreateCommandPool", vulkan.create_command_pool,
                                            vulkan.destroy_command_pool, pool));
    VkCommandBufferAllocateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = command_pool_.get();
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    const VkResult result = vulkan.allocate_commands(device_.get(), &commands, &commands_);
    if (result != VK_SUCCESS)
        return vulkan_refusal("vkAllocateCommandBuffers", result);
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence_ = TRY(make<VkFence>("vkCreateFence", vulkan.create_fence, vulkan.destroy_fence, fence));
    return Done{};
}

std::optional<std::uint32_t> VulkanDevice::memory_type(std::uint32_t allowed,
                                                       VkMemoryPropertyFlags wanted) const {
    const auto count = std::min<std::uint32_t>(memories_.memoryTypeCount, VK_MAX_MEMORY_TYPES);
    for (std::uint32_t i = 0; i < count; ++i)
        if ((allowed >> i & 1) != 0 && (memories_.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    return std::nullopt;
}

Attempt<Allocation> VulkanDevice::allocation(Bytes size,
                                             std::span<const VkMemoryPropertyFlags> wishes) {
    const auto& vulkan = device_.vulkan();
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size.count;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    Allocation made;
    made.buffer =
        TRY(make<VkBuffer>("vkCreateBuffer", vulkan.create_buffer, vulkan.destroy_buffer, info));
    VkMemoryRequirements needs{};
    vulkan.requirements(device_.get(), made.buffer.get(), &needs);
    std::optional<std::uint32_t> type;
    for (const auto wish : wishes)
        type = type ? type : memory_type(needs.memoryTypeBits, wish);
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = type.value_or(0);
    made.memory =
        TRY(make<VkDeviceMemory>("vkAllocateMemory", vulkan.allocate, vulkan.free, memory));
    const VkResult bound = vulkan.bind(device_.get(), made.buffer.get(), made.memory.get(), 0);
    if (bound != VK_SUCCESS)
        return vulkan_refusal("vkBindBufferMemory", bound);
    return made;
}

Attempt<Done> VulkanDevice::allocate(Bytes size, Bytes staging) {
    constexpr std::array<VkMemoryPropertyFlags, 2> kOnDevice = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                                                0};
    // Every device has the second; reading from what is not cached is slow.
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    constexpr std::array<VkMemoryPropertyFlags, 2> kOnHost = {
        kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kMapped};
    for (auto& buffer : buffers_)
        buffer = TRY(allocation(size, kOnDevice));
    host_ = TRY(allocation(staging, kOnHost));
    void* memory = nullptr;
    const VkResult mapped =
        device_.vulkan().map(device_.get(), host_.memory.get(), 0, VK_WHOLE_SIZE, 0, &memory);
    if (mapped != VK_SUCCESS)
        return vulkan_refusal("vkMapMemory", mapped);
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return make_sets();
}

/// One for each way round.
Attempt<Done> VulkanDevice::make_sets() {
    const auto& vulkan = device_.vulkan();
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = static_cast<std::uint32_t>(sets_.size());
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    set_pool_ = TRY(make<VkDescriptorPool>("vkCreateDescriptorPool", vulkan.create_descriptor_pool,
                                           vulkan.destroy_descriptor_pool, pool));
    const std::array layouts = {set_layout_.get(), set_layout_.get()};
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = set_pool_.get();
    info.descriptorSetCount = layouts.size();
    info.pSetLayouts = layouts.data();
    const VkResult result = vulkan.allocate_sets(device_.get(), &info, sets_.data());
    if (result != VK_SUCCESS)
        return vulkan_refusal("vkAllocateDescriptorSets", result);
    for (std::size_t from = 0; from < sets_.size(); ++from) {
        const std::array<VkDescriptorBufferInfo, 2> buffers = {
            {{buffers_[from].buffer.get(), 0, VK_WHOLE_SIZE},
             {buffers_[1 - from].buffer.get(), 0, VK_WHOLE_SIZE}}};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = sets_[from];
        write.descriptorCount = buffers.size();
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = buffers.data();
        vulkan.update_sets(device_.get(), 1, &write, 0, nullptr);
    }
    return Done{};
}

Attempt<Done> VulkanDevice::prepare(Kernel kernel) {
    auto& pipeline = pipelines_[static_cast<std::size_t>(kernel)];
    if (pipeline)
        return Done{};
    const auto& vulkan = device_.vulkan();
    const auto words = shader_of(kernel);
    VkShaderModuleCreateInfo code{};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = words.size_bytes();
    code.pCode = words.data();
    const auto shader = TRY(make<VkShaderModule>("vkCreateShaderModule", vulkan.create_shader,
                                                 vulkan.destroy_shader, code));
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader.get();
    info.stage.pName = "main";
    info.layout = layout_.get();
    VkPipeline made = VK_NULL_HANDLE;
    const VkResult result =
        vulkan.create_pipelines(device_.get(), VK_NULL_HANDLE, 1, &info, nullptr, &made);
    if (result != VK_SUCCESS) {
        auto refusal = vulkan_refusal("vkCreateComputePipelines", result);
        if (refusal.code == "api-refused")
            refusal.code = "build-failed";
        return refusal;
    }
    pipeline = {device_.get(), made, vulkan.destroy_pipeline};
    return Done{};
}

Attempt<Done> VulkanDevice::begin() {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult result = device_.vulkan().begin(commands_, &info);
    if (result != VK_SUCCESS)
        return vulkan_refusal("vkBeginCommandBuffer", result);
    separate();  // what the host wrote, from what reads it
    return Done{};
}

void VulkanDevice::separate() {
    device_.vulkan().barrier(commands_, kAllStages | VK_PIPELINE_STAGE_HOST_BIT,
                             kAllStages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &kAllMemory, 0, nullptr,
                             0, nullptr);
}

Attempt<Done> VulkanDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    (void)TRY(begin());
    const auto& vulkan = device_.vulkan();
    vulkan.bind_pipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                         pipelines_[static_cast<std::size_t>(work.kernel)].get());
    vulkan.bind_sets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_.get(), 0, 1,
                     &sets_[static_cast<std::size_t>(work.from)], 0, nullptr);
    vulkan.push(commands_, layout_.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof work.arguments,
                &work.arguments);
    for (std::uint32_t i = 0; i < work.times; ++i) {
        vulkan.dispatch(commands_, work.groups, 1, 1);
        separate();
    }
    return finish();
}

Attempt<Done> VulkanDevice::transfer(Direction direction,
                                     Buffer buffer,
                                     Bytes size,
                                     std::uint32_t times) {
    (void)TRY(begin());
    const auto on_host = host_.buffer.get();
    const auto on_device = buffers_[static_cast<std::size_t>(buffer)].buffer.get();
    const bool to_device = direction == Direction::ToDevice;
    const VkBufferCopy region{0, 0, size.count};
    for (std::uint32_t i = 0; i < times; ++i) {
        device_.vulkan().copy(commands_, to_device ? on_host : on_device,
                              to_device ? on_device : on_host, 1, &region);
        separate();
    }
    return finish();
}

Attempt<Done> VulkanDevice::finish() {
    const auto& vulkan = device_.vulkan();
    const VkResult ended = vulkan.end(commands_);
    if (ended != VK_SUCCESS)
        return vulkan_refusal("vkEndCommandBuffer", ended);
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    const VkResult submitted = vulkan.submit(device_.queue(), 1, &info, fence_.get());
    if (submitted != VK_SUCCESS)
        return vulkan_refusal("vkQueueSubmit", submitted);
    const auto limit = std::chrono::nanoseconds{max_wait(waiting_)}.count();
    const VkResult waited =
        vulkan.wait(device_.get(), 1, fence_.address(), VK_TRUE, static_cast<std::uint64_t>(limit));
    if (waited == VK_TIMEOUT)
        return dispatch_timed_out(waiting_);
    if (waited != VK_SUCCESS)
        return vulkan_refusal("vkWaitForFences", waited);
    const VkResult reset = vulkan.reset_fences(device_.get(), 1, fence_.address());
    if (reset != VK_SUCCESS)
        return vulkan_refusal("vkResetFences", reset);
    return Done{};
}

std::optional<Bytes> max_buffer(const DeviceFacts& facts) {
    std::optional<Bytes> least;
    for (const auto* key :
         {"max_storage_buffer_range", "max_memory_allocation_size", "max_buffer_size"})
        if (const auto limit = facts.extra.at(key).as_unsigned())
            least = Bytes{std::min(*limit, least.value_or(Bytes{*limit}).count)};
    return least;
}

/// Newer llvmpipes take all memory from one memfd, which is a file, and a worker's files end at
/// 256 MiB (probe/spawn.cpp): two of these, and as much for the host's side, fit.
constexpr Bytes kMaxSoftwareBuffer = mib(64);

ComputeLimits limits_of(const DeviceFacts& facts, std::optional<Bytes> nvidia_free) {
    const bool is_cpu = facts.type == DeviceType::Cpu;
    const auto largest = max_buffer(facts);
    const auto told = facts.memory ? facts.memory->free : std::nullopt;
    const auto on_device = nvidia_free ? nvidia_free : told;
    return ComputeLimits{
        .free = is_cpu ? free_host_memory() : on_device,
        .max_buffer =
            is_cpu ? std::min(largest.value_or(kMaxSoftwareBuffer), kMaxSoftwareBuffer) : largest,
        .is_cpu = is_cpu,
        .has_fp16 = facts.extra.at("shader_float16").as_bool().value_or(false),
        .has_int8 = facts.extra.at("integer_dot_product").as_bool().value_or(false)};
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts) {
    const auto free = TRY(nvidia_free_memory(facts));
    auto logical = TRY(LogicalDevice::create(device, facts));
    auto opened =
        std::make_unique<VulkanDevice>(device, std::move(logical), limits_of(facts, free));
    (void)TRY(opened->open());
    return std::unique_ptr<ComputeDevice>{std::move(opened)};
}

}  // namespace gpuprobe::backends
