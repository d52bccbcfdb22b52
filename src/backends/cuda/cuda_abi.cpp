// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_abi.h"

namespace gpuprobe::backends::cuda {

Result<Symbols> load(const DynamicLibrary& library) {
    // The _v2 form names the MIG instance where there is one; drivers before 11.4 have only the
    // first.
    auto* uuid = library.optional_symbol<CudaResult(Uuid*, Device)>("cuDeviceGetUuid_v2");
    if (!uuid)
        uuid = library.optional_symbol<CudaResult(Uuid*, Device)>("cuDeviceGetUuid");
    return Symbols{
        .init = TRY(library.symbol<CudaResult(unsigned)>("cuInit")),
        .driver_version = TRY(library.symbol<CudaResult(int*)>("cuDriverGetVersion")),
        .error_name =
            library.optional_symbol<CudaResult(CudaResult, const char**)>("cuGetErrorName"),
        .device_count = TRY(library.symbol<CudaResult(int*)>("cuDeviceGetCount")),
        .device_get = TRY(library.symbol<CudaResult(Device*, int)>("cuDeviceGet")),
        .name = TRY(library.symbol<CudaResult(char*, int, Device)>("cuDeviceGetName")),
        .uuid = uuid,
        .total_memory =
            TRY(library.symbol<CudaResult(std::size_t*, Device)>("cuDeviceTotalMem_v2")),
        .attribute = TRY(library.symbol<CudaResult(int*, int, Device)>("cuDeviceGetAttribute")),
        .pci_bus_id = TRY(library.symbol<CudaResult(char*, int, Device)>("cuDeviceGetPCIBusId")),
        .luid = library.optional_symbol<CudaResult(char*, unsigned*, Device)>("cuDeviceGetLuid"),
    };
}

}  // namespace gpuprobe::backends::cuda
