// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip_compute_abi.h"

#include "base/parse.h"

namespace gpuprobe::hip {
namespace {

ReasonCode code_of(HipResult code) {
    switch (code) {
        case 2:  // hipErrorOutOfMemory
            return "out-of-memory";
        case 200:  // hipErrorInvalidImage
        case 209:  // hipErrorNoBinaryForGpu
        case 218:  // hipErrorInvalidKernelFile
            return "build-failed";
        case 702:  // hipErrorLaunchTimeOut
            return "dispatch-timed-out";
        case 214:  // hipErrorECCNotCorrectable
        case 700:  // hipErrorIllegalAddress
        case 719:  // hipErrorLaunchFailure
            return "device-lost";
        default:
            return "api-refused";
    }
}

template <class Type>
Status find(const DynamicLibrary& library, const char* name, NamedFunction<Type>& function) {
    function = {name, TRY(library.symbol<Type>(name))};
    return Done{};
}

}  // namespace

Result<ComputeSymbols> load_compute(const DynamicLibrary& library) {
    ComputeSymbols hip;
    auto& runtime = hip.runtime;
    (void)TRY(find(library, "hipMemGetInfo", runtime.memory_info));
    (void)TRY(find(library, "hipMalloc", runtime.allocate));
    (void)TRY(find(library, "hipFree", runtime.free));
    (void)TRY(find(library, "hipHostMalloc", runtime.allocate_host));
    (void)TRY(find(library, "hipHostFree", runtime.free_host));
    (void)TRY(find(library, "hipModuleLoadData", runtime.load_module));
    (void)TRY(find(library, "hipModuleUnload", runtime.unload_module));
    (void)TRY(find(library, "hipModuleGetFunction", runtime.function));
    (void)TRY(find(library, "hipModuleLaunchKernel", runtime.launch));
    (void)TRY(find(library, "hipMemcpyHtoDAsync", runtime.to_device));
    (void)TRY(find(library, "hipMemcpyDtoHAsync", runtime.to_host));
    (void)TRY(find(library, "hipEventCreateWithFlags", runtime.create_event));
    (void)TRY(find(library, "hipEventDestroy", runtime.destroy_event));
    (void)TRY(find(library, "hipEventRecord", runtime.record));
    (void)TRY(find(library, "hipEventQuery", runtime.query));
    (void)TRY(find(library, "hipSetDevice", hip.set_device));
    return hip;
}

Result<CompilerSymbols> load_compiler(const DynamicLibrary& library) {
    CompilerSymbols rtc;
    (void)TRY(find(library, "hiprtcCreateProgram", rtc.create));
    (void)TRY(find(library, "hiprtcCompileProgram", rtc.compile));
    (void)TRY(find(library, "hiprtcGetCodeSize", rtc.code_size));
    (void)TRY(find(library, "hiprtcGetCode", rtc.code));
    (void)TRY(find(library, "hiprtcGetProgramLogSize", rtc.log_size));
    (void)TRY(find(library, "hiprtcGetProgramLog", rtc.log));
    (void)TRY(find(library, "hiprtcDestroyProgram", rtc.destroy));
    return rtc;
}

Refusal hip_refusal(const Symbols& api, std::string_view call, HipResult code) {
    const char* words = api.error_name(code);
    return refused_call(
        code_of(code), call,
        scrubbed(words ? words : "unknown code") + " (" + std::to_string(code) + ")", code);
}

}  // namespace gpuprobe::hip
