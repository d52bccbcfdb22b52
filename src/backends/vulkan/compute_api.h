// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/compute/device.h"
#include "backends/vulkan/instance.h"

namespace gpuprobe::backends {

/// What makes a logical device. Null in no driver that Vulkan's loader accepts.
struct DeviceMaker {
    PFN_vkCreateDevice create = nullptr;
    PFN_vkGetDeviceProcAddr function = nullptr;
};

/// What works one: all core since Vulkan 1.0.
struct ComputeSymbols {
    PFN_vkDestroyDevice destroy_device = nullptr;
    PFN_vkGetDeviceQueue queue = nullptr;
    PFN_vkCreateBuffer create_buffer = nullptr;
    PFN_vkDestroyBuffer destroy_buffer = nullptr;
    PFN_vkGetBufferMemoryRequirements requirements = nullptr;
    PFN_vkAllocateMemory allocate = nullptr;
    PFN_vkFreeMemory free = nullptr;
    PFN_vkBindBufferMemory bind = nullptr;
    PFN_vkMapMemory map = nullptr;
    PFN_vkCreateDescriptorSetLayout create_set_layout = nullptr;
    PFN_vkDestroyDescriptorSetLayout destroy_set_layout = nullptr;
    PFN_vkCreatePipelineLayout create_pipeline_layout = nullptr;
    PFN_vkDestroyPipelineLayout destroy_pipeline_layout = nullptr;
    PFN_vkCreateDescriptorPool create_descriptor_pool = nullptr;
    PFN_vkDestroyDescriptorPool destroy_descriptor_pool = nullptr;
    PFN_vkAllocateDescriptorSets allocate_sets = nullptr;
    PFN_vkUpdateDescriptorSets update_sets = nullptr;
    PFN_vkCreateShaderModule create_shader = nullptr;
    PFN_vkDestroyShaderModule destroy_shader = nullptr;
    PFN_vkCreateComputePipelines create_pipelines = nullptr;
    PFN_vkDestroyPipeline destroy_pipeline = nullptr;
    PFN_vkCreateCommandPool create_command_pool = nullptr;
    PFN_vkDestroyCommandPool destroy_command_pool = nullptr;
    PFN_vkAllocateCommandBuffers allocate_commands = nullptr;
    PFN_vkBeginCommandBuffer begin = nullptr;
    PFN_vkEndCommandBuffer end = nullptr;
    PFN_vkCmdBindPipeline bind_pipeline = nullptr;
    PFN_vkCmdBindDescriptorSets bind_sets = nullptr;
    PFN_vkCmdPushConstants push = nullptr;
    PFN_vkCmdDispatch dispatch = nullptr;
    PFN_vkCmdPipelineBarrier barrier = nullptr;
    PFN_vkCmdCopyBuffer copy = nullptr;
    PFN_vkCreateFence create_fence = nullptr;
    PFN_vkDestroyFence destroy_fence = nullptr;
    PFN_vkResetFences reset_fences = nullptr;
    PFN_vkWaitForFences wait = nullptr;
    PFN_vkQueueSubmit submit = nullptr;
};

/// Errors: NotFound, naming the function.
Result<DeviceMaker> load_device_maker(const LoaderSymbols& loader, VkInstance instance);
Result<ComputeSymbols> load_compute(const DeviceMaker& maker, VkDevice device);

/// What a result that is no success means. Source: Vulkan 1.3 specification, "Return Codes".
Refusal vulkan_refusal(std::string_view call, VkResult result);

}  // namespace gpuprobe::backends
