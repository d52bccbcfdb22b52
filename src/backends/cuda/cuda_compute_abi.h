// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/compute/runtime_device.h"
#include "backends/cuda/cuda_abi.h"

/// The part of libcuda.so.1 that works a device. Source of every signature and number: CUDA Driver
/// API reference, "Primary Context Management", "Module Management", "Memory Management", "Event
/// Management", "Execution Control" and "CUresult". CUdeviceptr is as wide as a pointer.
namespace gpuprobe::backends::cuda {

using Context = struct ContextHandle*;

struct ComputeSymbols {
    GpuRuntime runtime = {};
    NamedFunction<CudaResult(Context*, Device)> retain = {};
    NamedFunction<CudaResult(Device)> release = {};
    NamedFunction<CudaResult(Context)> set_current = {};
};

/// Errors: NotFound, naming the function.
Result<ComputeSymbols> load_compute(const DynamicLibrary& library);

/// What a refusal of a call that works a device means.
Refusal cuda_refusal(const Symbols& api, std::string_view call, CudaResult code);

}  // namespace gpuprobe::backends::cuda
