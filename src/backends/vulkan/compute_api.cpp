// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/compute_api.h"

#include "backends/vulkan/vulkan_names.h"

namespace gpuprobe {
namespace {

ReasonCode code_of(VkResult result) {
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

}  // namespace

Result<DeviceMaker> load_device_maker(const LoaderSymbols& loader, VkInstance instance) {
    const DeviceMaker maker{.create = reinterpret_cast<PFN_vkCreateDevice>(
                                loader.instance_function(instance, "vkCreateDevice")),
                            .function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
                                loader.instance_function(instance, "vkGetDeviceProcAddr"))};
    if (!maker.create || !maker.function)
        return Error{ErrorCode::NotFound, "vkCreateDevice: no such function"};
    return maker;
}

Result<ComputeSymbols> load_compute(const DeviceMaker& maker, VkDevice device) {
    ComputeSymbols vulkan;
    const char* missing = nullptr;
    const auto find = [&](const char* name, auto& function) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
            maker.function(device, name));
        if (!function && !missing)
            missing = name;
    };
    find("vkDestroyDevice", vulkan.destroy_device);
    find("vkGetDeviceQueue", vulkan.queue);
    find("vkCreateBuffer", vulkan.create_buffer);
    find("vkDestroyBuffer", vulkan.destroy_buffer);
    find("vkGetBufferMemoryRequirements", vulkan.requirements);
    find("vkAllocateMemory", vulkan.allocate);
    find("vkFreeMemory", vulkan.free);
    find("vkBindBufferMemory", vulkan.bind);
    find("vkMapMemory", vulkan.map);
    find("vkCreateDescriptorSetLayout", vulkan.create_set_layout);
    find("vkDestroyDescriptorSetLayout", vulkan.destroy_set_layout);
    find("vkCreatePipelineLayout", vulkan.create_pipeline_layout);
    find("vkDestroyPipelineLayout", vulkan.destroy_pipeline_layout);
    find("vkCreateDescriptorPool", vulkan.create_descriptor_pool);
    find("vkDestroyDescriptorPool", vulkan.destroy_descriptor_pool);
    find("vkAllocateDescriptorSets", vulkan.allocate_sets);
    find("vkUpdateDescriptorSets", vulkan.update_sets);
    find("vkCreateShaderModule", vulkan.create_shader);
    find("vkDestroyShaderModule", vulkan.destroy_shader);
    find("vkCreateComputePipelines", vulkan.create_pipelines);
    find("vkDestroyPipeline", vulkan.destroy_pipeline);
    find("vkCreateCommandPool", vulkan.create_command_pool);
    find("vkDestroyCommandPool", vulkan.destroy_command_pool);
    find("vkAllocateCommandBuffers", vulkan.allocate_commands);
    find("vkBeginCommandBuffer", vulkan.begin);
    find("vkEndCommandBuffer", vulkan.end);
    find("vkCmdBindPipeline", vulkan.bind_pipeline);
    find("vkCmdBindDescriptorSets", vulkan.bind_sets);
    find("vkCmdPushConstants", vulkan.push);
    find("vkCmdDispatch", vulkan.dispatch);
    find("vkCmdPipelineBarrier", vulkan.barrier);
    find("vkCmdCopyBuffer", vulkan.copy);
    find("vkCreateFence", vulkan.create_fence);
    find("vkDestroyFence", vulkan.destroy_fence);
    find("vkResetFences", vulkan.reset_fences);
    find("vkWaitForFences", vulkan.wait);
    find("vkQueueSubmit", vulkan.submit);
    if (missing)
        return Error{ErrorCode::NotFound, std::string{missing} + ": no such function"};
    return vulkan;
}

Refusal vulkan_refusal(std::string_view call, VkResult result) {
    return refused_call(code_of(result), call, result_name(result), result);
}

}  // namespace gpuprobe
