// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/driver_library.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Visits the devices of the CUDA driver after cuInit, without creating a context, which would use
/// about half a gigabyte of device memory on the machines that were measured. A device's primary
/// context is used only when the device is opened.
Answer visit_cuda(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends

/// The functions of libcuda.so.1 that this backend calls. All signatures and numbers are from the
/// CUDA Driver API reference, "Initialization", "Version Management", "Device Management" and
/// "CUdevice_attribute".

namespace gpuprobe::backends::cuda {

using CudaResult = int;
constexpr CudaResult kSuccess = 0;
constexpr CudaResult kStubLibrary = 34;
constexpr CudaResult kNoDevice = 100;
constexpr CudaResult kSystemNotReady = 802;
constexpr CudaResult kDriverMismatch = 803;

using Device = int;

struct Uuid {
    std::uint8_t bytes[16] = {};
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
    MaxSharedMemoryPerBlockOptin = 97,
    VirtualMemoryManagement = 102,
    MemoryPools = 115,
};

struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<CudaResult(unsigned)> init{*this, "cuInit"};
    Symbol<CudaResult(int*)> driver_version{*this, "cuDriverGetVersion"};
    OptionalSymbol<CudaResult(CudaResult, const char**)> error_name{*this, "cuGetErrorName"};
    Symbol<CudaResult(int*)> device_count{*this, "cuDeviceGetCount"};
    Symbol<CudaResult(Device*, int)> device_get{*this, "cuDeviceGet"};
    Symbol<CudaResult(char*, int, Device)> name{*this, "cuDeviceGetName"};
    /// cuDeviceGetUuid_v2() returns the UUID of the MIG instance if the device is a MIG instance.
    /// Drivers older than CUDA 11.4 have only cuDeviceGetUuid().
    OptionalSymbol<CudaResult(Uuid*, Device)> uuid{*this, "cuDeviceGetUuid_v2", "cuDeviceGetUuid"};
    Symbol<CudaResult(std::size_t*, Device)> total_memory{*this, "cuDeviceTotalMem_v2"};
    Symbol<CudaResult(int*, int, Device)> attribute{*this, "cuDeviceGetAttribute"};
    Symbol<CudaResult(char*, int, Device)> pci_bus_id{*this, "cuDeviceGetPCIBusId"};
};

using Context = void*;  ///< CUcontext

/// The functions that run kernels on a device. CUdeviceptr has the size of a pointer; the suffix
/// _v2 marks the 64-bit ABI. Source: the same reference, "Primary Context Management", "Module
/// Management", "Memory Management", "Event Management", "Execution Control" and "CUresult".
struct ComputeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<CudaResult(Context*, Device)> retain{*this, "cuDevicePrimaryCtxRetain"};
    Symbol<CudaResult(Device)> release{*this, "cuDevicePrimaryCtxRelease_v2"};
    Symbol<CudaResult(Context)> set_current{*this, "cuCtxSetCurrent"};
    GpuRuntime runtime{.memory_info = {*this, "cuMemGetInfo_v2"},
                       .allocate = {*this, "cuMemAlloc_v2"},
                       .free = {*this, "cuMemFree_v2"},
                       .allocate_host = {*this, "cuMemHostAlloc"},
                       .free_host = {*this, "cuMemFreeHost"},
                       .load_module = {*this, "cuModuleLoadData"},
                       .unload_module = {*this, "cuModuleUnload"},
                       .function = {*this, "cuModuleGetFunction"},
                       .launch = {*this, "cuLaunchKernel"},
                       .to_device = {*this, "cuMemcpyHtoDAsync_v2"},
                       .to_host = {*this, "cuMemcpyDtoHAsync_v2"},
                       .create_event = {*this, "cuEventCreate"},
                       .destroy_event = {*this, "cuEventDestroy_v2"},
                       .record = {*this, "cuEventRecord"},
                       .query = {*this, "cuEventQuery"}};
};

/// The driver's name for an error code, with the code, such as "CUDA_ERROR_NO_DEVICE (100)".
std::string words_of(const Symbols& api, CudaResult code);

}  // namespace gpuprobe::backends::cuda

namespace gpuprobe::backends {

/// The modules generated from kernels.ptx, as NUL-terminated strings.
std::string_view cuda_module_check();  ///< only Check
std::string_view cuda_module_base();   ///< Fill, Read, Copy, Fp32
std::string_view cuda_module_fp16();
std::string_view cuda_module_int8();

}  // namespace gpuprobe::backends
