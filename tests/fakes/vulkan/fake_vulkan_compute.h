// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../compute.h"
#include "check.spv.h"
#include "copy.spv.h"
#include "fill.spv.h"
#include "fp16.spv.h"
#include "fp32.spv.h"
#include "int8.spv.h"
#include "read.spv.h"

/// The part of the driver that computes. FAKE_FAULT is one of fake::Fault. Uses host memory, finds
/// shaders by their code, and executes recorded commands when they are submitted. Crashes if an
/// object is not destroyed before the device.
namespace {

constexpr auto kFault = fake::Fault::FAKE_FAULT;
int launches = 0;
int held = 0;

struct Buffer {
    std::uint64_t size = 0;
    char* bytes = nullptr;
};
struct Memory {
    char* bytes = nullptr;
};
/// A dispatch with its arguments, or a copy.
struct Command {
    std::string_view kernel;
    Buffer* from;
    Buffer* to;
    std::uint32_t groups;
    std::array<std::uint32_t, 3> arguments;
    std::uint64_t size;
};
struct Set {
    std::array<Buffer*, 2> buffers = {};
};

Object the_device;
Object the_queue;
Object the_commands;
std::array<Set, 2> the_sets;
std::vector<Command> recorded;
std::string_view bound_kernel;
Set* bound_set = nullptr;
std::array<std::uint32_t, 3> pushed = {};

template <class Handle, class Thing>
VkResult hand_out(Thing* thing, Handle* out) {
    *out = reinterpret_cast<Handle>(thing);
    ++held;
    return VK_SUCCESS;
}
template <class Thing, class Handle>
Thing* thing_of(Handle handle) {
    return reinterpret_cast<Thing*>(handle);
}

VkResult create_device(VkPhysicalDevice,
                       const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks*,
                       VkDevice* out) {
    if (info->queueCreateInfoCount != 1 || info->pQueueCreateInfos->queueFamilyIndex != 0)
        return VK_ERROR_INITIALIZATION_FAILED;
    return hand_out(&the_device, out);
}
void destroy_device(VkDevice, const VkAllocationCallbacks*) {
    if (--held != 0)
        std::abort();
}
void get_queue(VkDevice, std::uint32_t, std::uint32_t, VkQueue* out) {
    *out = reinterpret_cast<VkQueue>(&the_queue);
}
VkResult create_buffer(VkDevice,
                       const VkBufferCreateInfo* info,
                       const VkAllocationCallbacks*,
                       VkBuffer* out) {
    return hand_out(new Buffer{.size = info->size}, out);
}
void destroy_buffer(VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) {
    delete thing_of<Buffer>(buffer);
    --held;
}
void requirements(VkDevice, VkBuffer buffer, VkMemoryRequirements* out) {
    *out = {thing_of<Buffer>(buffer)->size, 64, 3};
}
VkResult allocate(VkDevice,
                  const VkMemoryAllocateInfo* info,
                  const VkAllocationCallbacks*,
                  VkDeviceMemory* out) {
    if (kFault == fake::Fault::NoMemory)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return hand_out(new Memory{.bytes = static_cast<char*>(std::malloc(info->allocationSize))},
                    out);
}
void free_memory(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    std::free(thing_of<Memory>(memory)->bytes);
    delete thing_of<Memory>(memory);
    --held;
}
VkResult bind(VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize) {
    thing_of<Buffer>(buffer)->bytes = thing_of<Memory>(memory)->bytes;
    return VK_SUCCESS;
}
VkResult map(
    VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void** out) {
    *out = thing_of<Memory>(memory)->bytes;
    return VK_SUCCESS;
}

/// Creates an object that has no content, and that the caller must destroy.
template <class Info, class Handle>
VkResult create(VkDevice, const Info*, const VkAllocationCallbacks*, Handle* out) {
    return hand_out(new char, out);
}
template <class Handle>
void destroy(VkDevice, Handle handle, const VkAllocationCallbacks*) {
    delete thing_of<char>(handle);
    --held;
}

VkResult allocate_sets(VkDevice, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* out) {
    for (std::uint32_t i = 0; i < info->descriptorSetCount; ++i)
        out[i] = reinterpret_cast<VkDescriptorSet>(&the_sets[i]);
    return VK_SUCCESS;
}
void update_sets(VkDevice,
                 std::uint32_t,
                 const VkWriteDescriptorSet* write,
                 std::uint32_t,
                 const VkCopyDescriptorSet*) {
    for (std::uint32_t i = 0; i < write->descriptorCount; ++i)
        thing_of<Set>(write->dstSet)->buffers[i] = thing_of<Buffer>(write->pBufferInfo[i].buffer);
}

struct Shader {
    const char* name = nullptr;
};
VkResult create_shader(VkDevice,
                       const VkShaderModuleCreateInfo* info,
                       const VkAllocationCallbacks*,
                       VkShaderModule* out) {
    struct Known {
        const char* name;
        const std::uint32_t* words;
        std::size_t size;
    };
    static const Known kShaders[] = {
        {"check", shader_check, sizeof shader_check}, {"fill", shader_fill, sizeof shader_fill},
        {"read", shader_read, sizeof shader_read},    {"copy", shader_copy, sizeof shader_copy},
        {"fp32", shader_fp32, sizeof shader_fp32},    {"fp16", shader_fp16, sizeof shader_fp16},
        {"int8", shader_int8, sizeof shader_int8}};
    for (const auto& known : kShaders)
        if (known.size == info->codeSize && std::memcmp(known.words, info->pCode, known.size) == 0)
            return hand_out(new Shader{known.name}, out);
    return VK_ERROR_INITIALIZATION_FAILED;
}
void destroy_shader(VkDevice, VkShaderModule shader, const VkAllocationCallbacks*) {
    delete thing_of<Shader>(shader);
    --held;
}
VkResult create_pipelines(VkDevice,
                          VkPipelineCache,
                          std::uint32_t,
                          const VkComputePipelineCreateInfo* info,
                          const VkAllocationCallbacks*,
                          VkPipeline* out) {
    if (kFault == fake::Fault::BuildFails)
        return VK_ERROR_INITIALIZATION_FAILED;
    return hand_out(new Shader{*thing_of<Shader>(info->stage.module)}, out);
}
void destroy_pipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*) {
    delete thing_of<Shader>(pipeline);
    --held;
}
VkResult allocate_commands(VkDevice, const VkCommandBufferAllocateInfo*, VkCommandBuffer* out) {
    *out = reinterpret_cast<VkCommandBuffer>(&the_commands);
    return VK_SUCCESS;
}
VkResult begin(VkCommandBuffer, const VkCommandBufferBeginInfo*) {
    recorded.clear();
    return VK_SUCCESS;
}
VkResult end(VkCommandBuffer) {
    return VK_SUCCESS;
}
void bind_pipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline pipeline) {
    bound_kernel = thing_of<Shader>(pipeline)->name;
}
void bind_sets(VkCommandBuffer,
               VkPipelineBindPoint,
               VkPipelineLayout,
               std::uint32_t,
               std::uint32_t,
               const VkDescriptorSet* sets,
               std::uint32_t,
               const std::uint32_t*) {
    bound_set = thing_of<Set>(*sets);
}
void push(VkCommandBuffer,
          VkPipelineLayout,
          VkShaderStageFlags,
          std::uint32_t,
          std::uint32_t size,
          const void* values) {
    std::memcpy(pushed.data(), values, std::min<std::size_t>(size, sizeof pushed));
}
void dispatch(VkCommandBuffer, std::uint32_t x, std::uint32_t, std::uint32_t) {
    recorded.push_back({bound_kernel, bound_set->buffers[0], bound_set->buffers[1], x, pushed, 0});
}
void barrier(VkCommandBuffer,
             VkPipelineStageFlags,
             VkPipelineStageFlags,
             VkDependencyFlags,
             std::uint32_t,
             const VkMemoryBarrier*,
             std::uint32_t,
             const VkBufferMemoryBarrier*,
             std::uint32_t,
             const VkImageMemoryBarrier*) {}
void copy(VkCommandBuffer, VkBuffer from, VkBuffer to, std::uint32_t, const VkBufferCopy* region) {
    recorded.push_back({"", thing_of<Buffer>(from), thing_of<Buffer>(to), 0, {}, region->size});
}
void perform(const Command& command) {
    if (command.kernel.empty()) {
        std::memcpy(command.to->bytes, command.from->bytes, command.size);
        return;
    }
    if (kFault == fake::Fault::Crash)
        fake::crash();
    ++launches;
    void* const from = command.from->bytes;
    void* const to = command.to->bytes;
    fake::compute({.kernel = command.kernel,
                   .from = static_cast<const std::uint32_t*>(from),
                   .to = static_cast<std::uint32_t*>(to),
                   .groups = command.groups,
                   .rounds = command.arguments[0],
                   .factor = static_cast<std::int32_t>(command.arguments[1]),
                   .addend = static_cast<std::int32_t>(command.arguments[2])},
                  kFault);
}
VkResult submit(VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) {
    if (kFault == fake::Fault::LostHalfway && launches > 0)
        return VK_ERROR_DEVICE_LOST;
    if (const auto refusal = fake::returned("vkQueueSubmit", VK_SUCCESS))
        return static_cast<VkResult>(refusal);
    for (const auto& command : recorded)
        perform(command);
    return VK_SUCCESS;
}
VkResult wait(VkDevice, std::uint32_t, const VkFence*, VkBool32, std::uint64_t nanoseconds) {
    const bool is_stuck = kFault == fake::Fault::NeverEnds && launches > 0;
    return is_stuck && nanoseconds < 10'000'000'000 ? VK_TIMEOUT : VK_SUCCESS;
}
VkResult reset_fences(VkDevice, std::uint32_t, const VkFence*) {
    return VK_SUCCESS;
}

template <class Function>
PFN_vkVoidFunction erased(Function* function);

PFN_vkVoidFunction device_function(VkDevice, const char* name) {
    struct Entry {
        std::string_view name;
        PFN_vkVoidFunction function;
    };
    static const Entry kTable[] = {
        {"vkDestroyDevice", erased(destroy_device)},
        {"vkGetDeviceQueue", erased(get_queue)},
        {"vkCreateBuffer", erased(create_buffer)},
        {"vkDestroyBuffer", erased(destroy_buffer)},
        {"vkGetBufferMemoryRequirements", erased(requirements)},
        {"vkAllocateMemory", erased(allocate)},
        {"vkFreeMemory", erased(free_memory)},
        {"vkBindBufferMemory", erased(bind)},
        {"vkMapMemory", erased(map)},
        {"vkCreateDescriptorSetLayout",
         erased(create<VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout>)},
        {"vkDestroyDescriptorSetLayout", erased(destroy<VkDescriptorSetLayout>)},
        {"vkCreatePipelineLayout", erased(create<VkPipelineLayoutCreateInfo, VkPipelineLayout>)},
        {"vkDestroyPipelineLayout", erased(destroy<VkPipelineLayout>)},
        {"vkCreateDescriptorPool", erased(create<VkDescriptorPoolCreateInfo, VkDescriptorPool>)},
        {"vkDestroyDescriptorPool", erased(destroy<VkDescriptorPool>)},
        {"vkAllocateDescriptorSets", erased(allocate_sets)},
        {"vkUpdateDescriptorSets", erased(update_sets)},
        {"vkCreateShaderModule", erased(create_shader)},
        {"vkDestroyShaderModule", erased(destroy_shader)},
        {"vkCreateComputePipelines", erased(create_pipelines)},
        {"vkDestroyPipeline", erased(destroy_pipeline)},
        {"vkCreateCommandPool", erased(create<VkCommandPoolCreateInfo, VkCommandPool>)},
        {"vkDestroyCommandPool", erased(destroy<VkCommandPool>)},
        {"vkAllocateCommandBuffers", erased(allocate_commands)},
        {"vkBeginCommandBuffer", erased(begin)},
        {"vkEndCommandBuffer", erased(end)},
        {"vkCmdBindPipeline", erased(bind_pipeline)},
        {"vkCmdBindDescriptorSets", erased(bind_sets)},
        {"vkCmdPushConstants", erased(push)},
        {"vkCmdDispatch", erased(dispatch)},
        {"vkCmdPipelineBarrier", erased(barrier)},
        {"vkCmdCopyBuffer", erased(copy)},
        {"vkCreateFence", erased(create<VkFenceCreateInfo, VkFence>)},
        {"vkDestroyFence", erased(destroy<VkFence>)},
        {"vkResetFences", erased(reset_fences)},
        {"vkWaitForFences", erased(wait)},
        {"vkQueueSubmit", erased(submit)},
    };
    for (const Entry& entry : kTable)
        if (entry.name == name)
            return entry.function;
    return nullptr;
}

}  // namespace
