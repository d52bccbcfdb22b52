// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_compute_abi.h"

#include "base/parse.h"

namespace gpuprobe::cuda {
namespace {

const char* code_of(CudaResult code) {
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

}  // namespace

Result<ComputeSymbols> load_compute(const DynamicLibrary& library) {
    ComputeSymbols cuda;
    const auto find = [&]<class Type>(const char* name, Type*& function) -> Status {
        function = TRY(library.symbol<Type>(name));
        return Done{};
    };
    (void)TRY(find("cuDevicePrimaryCtxRetain", cuda.retain));
    (void)TRY(find("cuDevicePrimaryCtxRelease_v2", cuda.release));
    (void)TRY(find("cuCtxSetCurrent", cuda.set_current));
    (void)TRY(find("cuMemGetInfo_v2", cuda.memory_info));
    (void)TRY(find("cuMemAlloc_v2", cuda.allocate));
    (void)TRY(find("cuMemFree_v2", cuda.free));
    (void)TRY(find("cuMemHostAlloc", cuda.allocate_host));
    (void)TRY(find("cuMemFreeHost", cuda.free_host));
    (void)TRY(find("cuModuleLoadData", cuda.load_module));
    (void)TRY(find("cuModuleUnload", cuda.unload_module));
    (void)TRY(find("cuModuleGetFunction", cuda.function));
    (void)TRY(find("cuLaunchKernel", cuda.launch));
    (void)TRY(find("cuMemcpyHtoDAsync_v2", cuda.to_device));
    (void)TRY(find("cuMemcpyDtoHAsync_v2", cuda.to_host));
    (void)TRY(find("cuEventCreate", cuda.create_event));
    (void)TRY(find("cuEventDestroy_v2", cuda.destroy_event));
    (void)TRY(find("cuEventRecord", cuda.record));
    (void)TRY(find("cuEventQuery", cuda.query));
    return cuda;
}

Refusal cuda_refusal(const Symbols& api, std::string_view call, CudaResult code) {
    const char* words = nullptr;
    if (api.error_name)
        (void)api.error_name(code, &words);  // leaves words null for unknown codes
    Value detail;
    detail["call"] = Value{call};
    detail["code"] = code;
    return Refusal{.code = code_of(code),
                   .note = std::string{call} + ": " + scrubbed(words ? words : "unknown code") +
                           " (" + std::to_string(code) + ")",
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe::cuda
