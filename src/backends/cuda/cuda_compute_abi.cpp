// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_compute_abi.h"

#include "base/parse.h"

namespace gpuprobe::cuda {
namespace {

ReasonCode code_of(CudaResult code) {
    switch (code) {
        case 2:  // CUDA_ERROR_OUT_OF_MEMORY
            return "out-of-memory";
        case 200:  // CUDA_ERROR_INVALID_IMAGE
        case 209:  // CUDA_ERROR_NO_BINARY_FOR_GPU
        case 218:  // CUDA_ERROR_INVALID_PTX
        case 222:  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            return "build-failed";
        case 221:  // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        case 223:  // CUDA_ERROR_JIT_COMPILATION_DISABLED
            return "compiler-missing";
        case 702:  // CUDA_ERROR_LAUNCH_TIMEOUT
            return "dispatch-timed-out";
        case 214:  // CUDA_ERROR_ECC_UNCORRECTABLE
        case 226:  // CUDA_ERROR_NVLINK_UNCORRECTABLE
        case 700:  // CUDA_ERROR_ILLEGAL_ADDRESS: the context is of no use from here on
        case 714:  // CUDA_ERROR_HARDWARE_STACK_ERROR
        case 719:  // CUDA_ERROR_LAUNCH_FAILED
            return "device-lost";
        default:
            return "api-refused";
    }
}

template <class Type>
Status find(const DynamicLibrary& library,
            const char* symbol,
            const char* name,
            NamedFunction<Type>& function) {
    function = {name, TRY(library.symbol<Type>(symbol))};
    return Done{};
}

}  // namespace

Result<ComputeSymbols> load_compute(const DynamicLibrary& library) {
    ComputeSymbols cuda;
    auto& runtime = cuda.runtime;
    (void)TRY(find(library, "cuMemGetInfo_v2", "cuMemGetInfo", runtime.memory_info));
    (void)TRY(find(library, "cuMemAlloc_v2", "cuMemAlloc", runtime.allocate));
    (void)TRY(find(library, "cuMemFree_v2", "cuMemFree", runtime.free));
    (void)TRY(find(library, "cuMemHostAlloc", "cuMemHostAlloc", runtime.allocate_host));
    (void)TRY(find(library, "cuMemFreeHost", "cuMemFreeHost", runtime.free_host));
    (void)TRY(find(library, "cuModuleLoadData", "cuModuleLoadData", runtime.load_module));
    (void)TRY(find(library, "cuModuleUnload", "cuModuleUnload", runtime.unload_module));
    (void)TRY(find(library, "cuModuleGetFunction", "cuModuleGetFunction", runtime.function));
    (void)TRY(find(library, "cuLaunchKernel", "cuLaunchKernel", runtime.launch));
    (void)TRY(find(library, "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", runtime.to_device));
    (void)TRY(find(library, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync", runtime.to_host));
    (void)TRY(find(library, "cuEventCreate", "cuEventCreate", runtime.create_event));
    (void)TRY(find(library, "cuEventDestroy_v2", "cuEventDestroy", runtime.destroy_event));
    (void)TRY(find(library, "cuEventRecord", "cuEventRecord", runtime.record));
    (void)TRY(find(library, "cuEventQuery", "cuEventQuery", runtime.query));
    (void)TRY(find(library, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", cuda.retain));
    (void)TRY(
        find(library, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", cuda.release));
    (void)TRY(find(library, "cuCtxSetCurrent", "cuCtxSetCurrent", cuda.set_current));
    return cuda;
}

Refusal cuda_refusal(const Symbols& api, std::string_view call, CudaResult code) {
    const char* words = nullptr;
    if (api.error_name)
        (void)api.error_name(code, &words);  // leaves words null for unknown codes
    return refused_call(
        code_of(code), call,
        scrubbed(words ? words : "unknown code") + " (" + std::to_string(code) + ")", code);
}

}  // namespace gpuprobe::cuda
