// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip_abi.h"

namespace gpuprobe::backends::hip {

Result<Symbols> load(const DynamicLibrary& library) {
    return Symbols{
        .device_count = TRY(library.symbol<HipResult(int*)>("hipGetDeviceCount")),
        .error_name = TRY(library.symbol<const char*(HipResult)>("hipGetErrorName")),
        .runtime_version = TRY(library.symbol<HipResult(int*)>("hipRuntimeGetVersion")),
        .driver_version = TRY(library.symbol<HipResult(int*)>("hipDriverGetVersion")),
        .device_get = TRY(library.symbol<HipResult(Device*, int)>("hipDeviceGet")),
        .name = TRY(library.symbol<HipResult(char*, int, Device)>("hipDeviceGetName")),
        .total_memory = TRY(library.symbol<HipResult(std::size_t*, Device)>("hipDeviceTotalMem")),
        .pci_bus_id = TRY(library.symbol<HipResult(char*, int, int)>("hipDeviceGetPCIBusId")),
        .uuid = library.optional_symbol<HipResult(Uuid*, Device)>("hipDeviceGetUuid"),
    };
}

}  // namespace gpuprobe::backends::hip
