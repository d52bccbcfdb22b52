// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/compute/runtime_device.h"
#include "backends/hip/hip_abi.h"

/// The part of libamdhip64.so.N and of libhiprtc.so.N that works a device. Source of every
/// signature and number: HIP Runtime API reference, "Module Management", "Memory Management",
/// "Event Management" and "hipError_t"; HIPRTC API reference. The same in ROCm 5 to 7.
namespace gpuprobe::backends::hip {

using Program = struct ProgramHandle*;

struct ComputeSymbols {
    GpuRuntime runtime = {};
    NamedFunction<HipResult(int)> set_device = {};
};

/// The compiler that comes with the runtime.
struct CompilerSymbols {
    NamedFunction<int(Program*,
                      const char* source,
                      const char* name,
                      int headers,
                      const char** header_texts,
                      const char** header_names)>
        create = {};
    NamedFunction<int(Program, int options, const char** texts)> compile = {};
    NamedFunction<int(Program, std::size_t*)> code_size = {};
    NamedFunction<int(Program, char*)> code = {};
    NamedFunction<int(Program, std::size_t*)> log_size = {};
    NamedFunction<int(Program, char*)> log = {};
    NamedFunction<int(Program*)> destroy = {};
};

/// Errors: NotFound, naming the function.
Result<ComputeSymbols> load_compute(const DynamicLibrary& library);
Result<CompilerSymbols> load_compiler(const DynamicLibrary& library);

/// What a refusal of a call that works a device means.
Refusal hip_refusal(const Symbols& api, std::string_view call, HipResult code);

}  // namespace gpuprobe::backends::hip
