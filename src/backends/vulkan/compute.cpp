// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/driver_library.h"
#include "backends/nvml/nvml.h"
#include "backends/vulkan/api.h"
#include "backends/vulkan/vulkan.h"
#include "check.spv.h"
#include "copy.spv.h"
#include "fill.spv.h"
#include "fp16.spv.h"
#include "fp32.spv.h"
#include "int8.spv.h"
#include "read.spv.h"

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

/// The refusal for a function that failed with `result`. Source: Vulkan 1.3 specification, "Return
/// Codes".
Refusal vulkan_refusal(std::string_view function, VkResult result) {
    return refused_call(reason_of(result), function, result_name(result), result);
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

/// The extensions and features that the kernels for 16-bit floats and bytes need and that the
/// device has.
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
    /// Enables a feature if the device's facts contain the feature. Also enables the feature's
    /// extension if the device lists the extension.
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

/// A VkDevice with one queue and the supported features that the kernels use.
struct LogicalDevice {
    DeviceSymbols vulkan;
    Owned<VkDevice> device = {};
    std::uint32_t queue_family = 0;
};

/// Creates a logical device with a queue of the first queue family that can compute. Refusals:
/// `no-compute-queue`, or any error of vkCreateDevice.
Attempt<LogicalDevice> make_logical_device(const PhysicalDevice& device, const DeviceFacts& facts) {
    const auto family = compute_family(device);
    if (!family)
        return Refusal{.code = "no-compute-queue", .note = "the device has no compute queue"};
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
    // Look up the functions for this device, so that calls bypass the loader's dispatch.
    const auto find = [made, function = device.vulkan.device_function](const char* name) {
        return function(made, name);
    };
    const auto vulkan = TRY(compute_functions<DeviceSymbols>(find));
    const auto destroy = [destroy = vulkan.destroy_device](VkDevice one) { destroy(one, nullptr); };
    return LogicalDevice{.vulkan = vulkan, .device = {made, destroy}, .queue_family = *family};
}

using Shader = std::span<const std::uint32_t>;

/// The shader of each kernel.
const std::array<Shader, kKernels> kShaders = {shader_check, shader_fill, shader_read, shader_copy,
                                               shader_fp32,  shader_fp16, shader_int8};

/// A barrier that makes all earlier writes visible to all later reads, including those on the host.
constexpr VkMemoryBarrier kAllMemory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                        VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
                                        VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT};
constexpr VkPipelineStageFlags kAllStages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

/// A buffer and its memory.
struct Allocation {
    Owned<VkDeviceMemory> memory = {};
    Owned<VkBuffer> buffer = {};  // declared last, so that it is destroyed before its memory
};

class VulkanDevice final : public ComputeDevice {
public:
    VulkanDevice(const PhysicalDevice& physical, LogicalDevice device, const ComputeLimits& limits)
        : ComputeDevice{limits}, logical_{std::move(device)}, waiting_{waiting_for(limits.is_cpu)} {
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
    [[nodiscard]] const DeviceSymbols& vulkan() const { return logical_.vulkan; }
    [[nodiscard]] VkDevice device() const { return logical_.device.get(); }
    template <class Handle, class Destroy>
    [[nodiscard]] Owned<Handle> owned(Handle handle, const Symbol<Destroy>& destroy) const {
        return {handle,
                [destroy, device = device()](Handle one) { destroy(device, one, nullptr); }};
    }
    template <class Handle, class Create, class Destroy, class Info>
    Attempt<Owned<Handle>> make(const Symbol<Create>& create,
                                const Symbol<Destroy>& destroy,
                                const Info& info);
    Attempt<Done> make_layout();
    Attempt<Done> make_commands();
    Attempt<Done> make_sets();
    /// A buffer and its memory. The memory has the first set of properties in `wishes` that the
    /// device supports for this buffer.
    Attempt<Allocation> allocation(Bytes size, std::span<const VkMemoryPropertyFlags> wishes);
    [[nodiscard]] std::optional<std::uint32_t> memory_type(std::uint32_t allowed,
                                                           VkMemoryPropertyFlags wanted) const;
    /// Starts recording commands.
    Attempt<Done> begin();
    /// Records a barrier between the commands before and after it.
    void separate();
    /// Submits the recorded commands and waits until they have ended.
    Attempt<Done> finish();

    // Keep this order: members are destroyed from last to first, so the device goes last.
    LogicalDevice logical_;
    Waiting waiting_;
    VkPhysicalDeviceMemoryProperties memories_ = {};
    Owned<VkDescriptorSetLayout> set_layout_ = {};
    Owned<VkPipelineLayout> layout_ = {};
    Owned<VkDescriptorPool> set_pool_ = {};
    Owned<VkCommandPool> command_pool_ = {};
    Owned<VkFence> fence_ = {};
    VkCommandBuffer commands_ = VK_NULL_HANDLE;  ///< owned by its pool
    std::array<VkDescriptorSet, 2> sets_ = {};   ///< indexed by Work::from; owned by the pool
    std::array<Allocation, 2> buffers_ = {};
    Allocation host_ = {};
    std::array<Owned<VkPipeline>, kKernels> pipelines_ = {};
};

template <class Handle, class Create, class Destroy, class Info>
Attempt<Owned<Handle>> VulkanDevice::make(const Symbol<Create>& create,
                                          const Symbol<Destroy>& destroy,
                                          const Info& info) {
    Handle handle = {};
    (void)TRY(call(vulkan_refusal, create, device(), &info, nullptr, &handle));
    return owned(handle, destroy);
}

Attempt<Done> VulkanDevice::open() {
    (void)TRY(make_layout());
    return make_commands();
}

Attempt<Done> VulkanDevice::make_layout() {
    // All shaders have the same interface: two storage buffers and the arguments as push constants.
    std::array<VkDescriptorSetLayoutBinding, 2> bindings = {};
    for (std::uint32_t i = 0; i < bindings.size(); ++i)
        bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                       nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = bindings.size();
    set.pBindings = bindings.data();
    set_layout_ = TRY(
        make<VkDescriptorSetLayout>(vulkan().create_set_layout, vulkan().destroy_set_layout, set));
    const VkPushConstantRange arguments{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(KernelArguments)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = set_layout_.address();
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &arguments;
    layout_ = TRY(make<VkPipelineLayout>(vulkan().create_pipeline_layout,
                                         vulkan().destroy_pipeline_layout, layout));
    return Done{};
}

Attempt<Done> VulkanDevice::make_commands() {
    // There is one command buffer, which is recorded again for each submission, and one fence to
    // wait for its end.
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = logical_.queue_family;
    command_pool_ =
        TRY(make<VkCommandPool>(vulkan().create_command_pool, vulkan().destroy_command_pool, pool));
    VkCommandBufferAllocateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = command_pool_.get();
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    (void)TRY(call(vulkan_refusal, vulkan().allocate_commands, device(), &commands, &commands_));
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence_ = TRY(make<VkFence>(vulkan().create_fence, vulkan().destroy_fence, fence));
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
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size.count;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    Allocation made;
    made.buffer = TRY(make<VkBuffer>(vulkan().create_buffer, vulkan().destroy_buffer, info));
    VkMemoryRequirements needs{};
    vulkan().requirements(device(), made.buffer.get(), &needs);
    // The type of the memory must be suitable for the buffer, so the type is chosen after the
    // buffer was created.
    std::optional<std::uint32_t> type;
    for (const auto wish : wishes)
        type = type ? type : memory_type(needs.memoryTypeBits, wish);
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = type.value_or(0);
    made.memory = TRY(make<VkDeviceMemory>(vulkan().allocate, vulkan().free, memory));
    (void)TRY(
        call(vulkan_refusal, vulkan().bind, device(), made.buffer.get(), made.memory.get(), 0));
    return made;
}

Attempt<Done> VulkanDevice::allocate(Bytes size, Bytes staging) {
    constexpr std::array<VkMemoryPropertyFlags, 2> kOnDevice = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                                                0};
    // Every device has memory with the properties kMapped, but cached memory is the first choice,
    // because reading from uncached memory is slow.
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    constexpr std::array<VkMemoryPropertyFlags, 2> kOnHost = {
        kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kMapped};
    // The second wish, 0, accepts any memory type.
    for (auto& buffer : buffers_)
        buffer = TRY(allocation(size, kOnDevice));
    host_ = TRY(allocation(staging, kOnHost));
    void* memory = nullptr;
    (void)TRY(call(vulkan_refusal, vulkan().map, device(), host_.memory.get(), 0, VK_WHOLE_SIZE, 0,
                   &memory));
    staging_ = {static_cast<std::byte*>(memory), staging.count};
    return make_sets();
}

/// Creates two descriptor sets, one for each direction between the two buffers.
Attempt<Done> VulkanDevice::make_sets() {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = static_cast<std::uint32_t>(sets_.size());
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    set_pool_ = TRY(make<VkDescriptorPool>(vulkan().create_descriptor_pool,
                                           vulkan().destroy_descriptor_pool, pool));
    const std::array layouts = {set_layout_.get(), set_layout_.get()};
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = set_pool_.get();
    info.descriptorSetCount = layouts.size();
    info.pSetLayouts = layouts.data();
    (void)TRY(call(vulkan_refusal, vulkan().allocate_sets, device(), &info, sets_.data()));
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
        vulkan().update_sets(device(), 1, &write, 0, nullptr);
    }
    return Done{};
}

Attempt<Done> VulkanDevice::prepare(Kernel kernel) {
    auto& pipeline = pipelines_[index_of(kernel)];
    if (pipeline)
        return Done{};
    // The shader module is needed only until the pipeline is created.
    const auto words = kShaders[index_of(kernel)];
    VkShaderModuleCreateInfo code{};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = words.size_bytes();
    code.pCode = words.data();
    const auto shader =
        TRY(make<VkShaderModule>(vulkan().create_shader, vulkan().destroy_shader, code));
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader.get();
    info.stage.pName = "main";
    info.layout = layout_.get();
    VkPipeline made = VK_NULL_HANDLE;
    const auto built = call(vulkan_refusal, vulkan().create_pipelines, device(),
                            VkPipelineCache{VK_NULL_HANDLE}, 1U, &info, nullptr, &made);
    if (!built) {
        // An unspecific error here means that the driver could not compile the shader.
        auto refusal = built.error();
        if (refusal.code == "api-refused")
            refusal.code = "build-failed";
        return refusal;
    }
    pipeline = owned(made, vulkan().destroy_pipeline);
    return Done{};
}

Attempt<Done> VulkanDevice::begin() {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    (void)TRY(call(vulkan_refusal, vulkan().begin, commands_, &info));
    separate();  // make the host's writes visible
    return Done{};
}

void VulkanDevice::separate() {
    vulkan().barrier(commands_, kAllStages | VK_PIPELINE_STAGE_HOST_BIT,
                     kAllStages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &kAllMemory, 0, nullptr, 0,
                     nullptr);
}

Attempt<Done> VulkanDevice::run(const Work& work) {
    (void)TRY(prepare(work.kernel));
    (void)TRY(begin());
    vulkan().bind_pipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                           pipelines_[index_of(work.kernel)].get());
    vulkan().bind_sets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_.get(), 0, 1,
                       &sets_[index_of(work.from)], 0, nullptr);
    vulkan().push(commands_, layout_.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof work.arguments,
                  &work.arguments);
    // The barriers make the dispatches run in sequence.
    for (std::uint32_t i = 0; i < work.times; ++i) {
        vulkan().dispatch(commands_, work.groups, 1, 1);
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
    const auto on_device = buffers_[index_of(buffer)].buffer.get();
    const bool to_device = direction == Direction::ToDevice;
    const VkBufferCopy region{0, 0, size.count};
    for (std::uint32_t i = 0; i < times; ++i) {
        vulkan().copy(commands_, to_device ? on_host : on_device, to_device ? on_device : on_host,
                      1, &region);
        separate();
    }
    return finish();
}

Attempt<Done> VulkanDevice::finish() {
    (void)TRY(call(vulkan_refusal, vulkan().end, commands_));
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    VkQueue queue = VK_NULL_HANDLE;
    vulkan().queue(device(), logical_.queue_family, 0, &queue);
    (void)TRY(call(vulkan_refusal, vulkan().submit, queue, 1U, &info, fence_.get()));
    // vkWaitForFences has a time limit, so no polling is needed.
    const auto limit = std::chrono::nanoseconds{max_wait(waiting_)}.count();
    const auto waited =
        vulkan().wait(device(), 1, fence_.address(), VK_TRUE, static_cast<std::uint64_t>(limit));
    if (waited == VK_TIMEOUT)
        return dispatch_timed_out(waiting_);
    if (waited != VK_SUCCESS)
        return vulkan_refusal(vulkan().wait.name, waited);
    return call(vulkan_refusal, vulkan().reset_fences, device(), 1U, fence_.address());
}

/// The smallest of the limits that apply to a storage buffer; nullopt if none is known.
std::optional<Bytes> max_buffer(const DeviceFacts& facts) {
    std::optional<Bytes> least;
    for (const auto* key :
         {"max_storage_buffer_range", "max_memory_allocation_size", "max_buffer_size"})
        if (const auto limit = facts.extra.at(key).as_unsigned())
            least = Bytes{std::min(*limit, least.value_or(Bytes{*limit}).count)};
    return least;
}

/// The largest buffer for software renderers. Newer versions of llvmpipe take all memory from one
/// memfd, and the file size limit of a worker (256 MiB, probe/spawn.cpp) applies to it. Two buffers
/// of this size and the host memory fit into the 256 MiB.
constexpr Bytes kMaxSoftwareBuffer = mib(64);

ComputeLimits limits_of(const DeviceFacts& facts) {
    auto limits = limits_from(facts, "shader_float16");
    limits.max_buffer = max_buffer(facts);
    if (limits.is_cpu)
        limits.max_buffer =
            std::min(limits.max_buffer.value_or(kMaxSoftwareBuffer), kMaxSoftwareBuffer);
    return limits;
}

}  // namespace

Attempt<std::unique_ptr<ComputeDevice>> open_vulkan(const PhysicalDevice& device,
                                                    const DeviceFacts& facts) {
    auto limits = limits_of(facts);
    // Read the free memory before the logical device is created, because the device itself uses
    // memory.
    if (const auto free = TRY(nvidia_free_memory(facts)))
        limits.free = free;
    auto logical = TRY(make_logical_device(device, facts));
    return opened(std::make_unique<VulkanDevice>(device, std::move(logical), limits));
}

}  // namespace gpuprobe::backends
