// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/compute/attempt.h"
#include "backends/cuda/cuda_abi.h"

/// The part of libcuda.so.1 that works a device. Source of every signature and number: CUDA Driver
/// API reference, "Primary Context Management", "Module Management", "Memory Management", "Event
/// Management", "Execution Control" and "CUresult".
namespace gpuprobe::cuda {

using DevicePointer = std::uint64_t;
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;

constexpr CudaResult kNotReady = 600;
constexpr unsigned kEventDisableTiming = 2;

struct ComputeSymbols {
    CudaResult (*retain)(Context*, Device) = nullptr;
    CudaResult (*release)(Device) = nullptr;
    CudaResult (*set_current)(Context) = nullptr;
    CudaResult (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
    CudaResult (*allocate)(DevicePointer*, std::size_t) = nullptr;
    CudaResult (*free)(DevicePointer) = nullptr;
    CudaResult (*allocate_host)(void**, std::size_t, unsigned flags) = nullptr;
    CudaResult (*free_host)(void*) = nullptr;
    CudaResult (*load_module)(Module*, const void* image) = nullptr;
    CudaResult (*unload_module)(Module) = nullptr;
    CudaResult (*function)(Function*, Module, const char* name) = nullptr;
    CudaResult (*launch)(Function,
                         unsigned grid_x,
                         unsigned grid_y,
                         unsigned grid_z,
                         unsigned block_x,
                         unsigned block_y,
                         unsigned block_z,
                         unsigned shared,
                         Stream,
                         void** parameters,
                         void** extra) = nullptr;
    CudaResult (*to_device)(DevicePointer, const void*, std::size_t, Stream) = nullptr;
    CudaResult (*to_host)(void*, DevicePointer, std::size_t, Stream) = nullptr;
    CudaResult (*create_event)(Event*, unsigned flags) = nullptr;
    CudaResult (*destroy_event)(Event) = nullptr;
    CudaResult (*record)(Event, Stream) = nullptr;
    CudaResult (*query)(Event) = nullptr;
};

/// Errors: NotFound, naming the function.
Result<ComputeSymbols> load_compute(const DynamicLibrary& library);

/// What a refusal of a call that works a device means. `error_name` may be null.
Refusal cuda_refusal(const Symbols& api, std::string_view call, CudaResult code);

}  // namespace gpuprobe::cuda
