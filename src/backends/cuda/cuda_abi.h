// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backends/dynamic_library.h"

/// The part of libcuda.so.1 that is called. Source of every signature and number: CUDA Driver API
/// reference, "Initialization", "Version Management", "Device Management" and "CUdevice_attribute".
namespace gpuprobe::backends::cuda {

using CudaResult = int;
constexpr CudaResult kSuccess = 0;
constexpr CudaResult kStubLibrary = 34;
constexpr CudaResult kNoDevice = 100;
constexpr CudaResult kSystemNotReady = 802;
constexpr CudaResult kDriverMismatch = 803;

using Device = int;

struct Uuid {
    unsigned char bytes[16] = {};
};

/// CUdevice_attribute
enum class Attribute : int {
    MaxThreadsPerBlock = 1,
    WarpSize = 10,
    MaxRegistersPerBlock = 12,
    ClockRate = 13,
    MultiprocessorCount = 16,
    Integrated = 18,
    ComputeMode = 20,
    EccEnabled = 32,
    MemoryClockRate = 36,
    GlobalMemoryBusWidth = 37,
    L2CacheSize = 38,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    ManagedMemory = 83,
    ConcurrentManagedAccess = 89,
    PageableMemoryAccess = 88,
    MaxSharedMemoryPerBlockOptin = 97,
    VirtualMemoryManagement = 102,
    MemoryPools = 115,
};

struct Symbols {
    CudaResult (*init)(unsigned) = nullptr;
    CudaResult (*driver_version)(int*) = nullptr;
    CudaResult (*error_name)(CudaResult, const char**) = nullptr;
    CudaResult (*device_count)(int*) = nullptr;
    CudaResult (*device_get)(Device*, int) = nullptr;
    CudaResult (*name)(char*, int, Device) = nullptr;
    CudaResult (*uuid)(Uuid*, Device) = nullptr;
    CudaResult (*total_memory)(std::size_t*, Device) = nullptr;
    CudaResult (*attribute)(int*, int, Device) = nullptr;
    CudaResult (*pci_bus_id)(char*, int, Device) = nullptr;
    CudaResult (*luid)(char*, unsigned*, Device) = nullptr;
};

/// Errors: NotFound, naming the function that a library of this name must have and has not.
Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::cuda
