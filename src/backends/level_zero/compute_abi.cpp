// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/compute_abi.h"

#include "backends/level_zero/level_zero_names.h"

namespace gpuprobe::ze {
namespace {

ReasonCode code_of(Result code) {
    switch (code) {
        case kNotReady:
            return "dispatch-timed-out";
        case 0x70000001:  // ZE_RESULT_ERROR_DEVICE_LOST
        case 0x70000006:  // ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET
            return "device-lost";
        case 0x70000002:  // ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        case 0x70000003:  // ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
            return "out-of-memory";
        case 0x70000004:  // ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        case 0x70000005:  // ZE_RESULT_ERROR_MODULE_LINK_FAILURE
            return "build-failed";
        case 0x70020000:  // ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: the driver loads its compiler
            return "compiler-missing";
        default:
            return "api-refused";
    }
}

template <class Type>
Status find(const DynamicLibrary& library, const char* name, Type*& function) {
    function = TRY(library.symbol<Type>(name));
    return Done{};
}

}  // namespace

::gpuprobe::Result<ComputeSymbols> load_compute(const DynamicLibrary& library) {
    ComputeSymbols api;
    (void)TRY(find(library, "zeDeviceGetCommandQueueGroupProperties", api.queue_groups));
    (void)TRY(find(library, "zeContextCreate", api.create_context));
    (void)TRY(find(library, "zeContextDestroy", api.destroy_context));
    (void)TRY(find(library, "zeCommandQueueCreate", api.create_queue));
    (void)TRY(find(library, "zeCommandQueueDestroy", api.destroy_queue));
    (void)TRY(find(library, "zeCommandQueueExecuteCommandLists", api.execute));
    (void)TRY(find(library, "zeCommandQueueSynchronize", api.synchronize));
    (void)TRY(find(library, "zeCommandListCreate", api.create_list));
    (void)TRY(find(library, "zeCommandListDestroy", api.destroy_list));
    (void)TRY(find(library, "zeCommandListClose", api.close_list));
    (void)TRY(find(library, "zeCommandListReset", api.reset_list));
    (void)TRY(find(library, "zeCommandListAppendMemoryCopy", api.append_copy));
    (void)TRY(find(library, "zeCommandListAppendLaunchKernel", api.append_launch));
    (void)TRY(find(library, "zeCommandListAppendBarrier", api.append_barrier));
    (void)TRY(find(library, "zeMemAllocDevice", api.allocate_device));
    (void)TRY(find(library, "zeMemAllocHost", api.allocate_host));
    (void)TRY(find(library, "zeMemFree", api.free));
    (void)TRY(find(library, "zeModuleCreate", api.create_module));
    (void)TRY(find(library, "zeModuleDestroy", api.destroy_module));
    (void)TRY(find(library, "zeKernelCreate", api.create_kernel));
    (void)TRY(find(library, "zeKernelDestroy", api.destroy_kernel));
    (void)TRY(find(library, "zeKernelSetGroupSize", api.set_group_size));
    (void)TRY(find(library, "zeKernelSetArgumentValue", api.set_argument));
    return api;
}

Refusal level_zero_compute_refusal(std::string_view call, Result code) {
    const auto answer = level_zero_refusal("level_zero", call, code);
    Value detail;
    detail["call"] = Value{call};
    detail["code"] = Value{code};
    return Refusal{.code = code_of(code),
                   .note = answer.note.value_or(std::string{call}),
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe::ze
