// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/nvml_abi.h"

namespace gpuprobe::backends::nvml {

Result<Symbols> load(const DynamicLibrary& library) {
    return Symbols{
        .init = TRY(library.symbol<Return()>("nvmlInit_v2")),
        .error_string = TRY(library.symbol<const char*(Return)>("nvmlErrorString")),
        .driver_version =
            TRY(library.symbol<Return(char*, unsigned)>("nvmlSystemGetDriverVersion")),
        .library_version = TRY(library.symbol<Return(char*, unsigned)>("nvmlSystemGetNVMLVersion")),
        .cuda_version = library.optional_symbol<Return(int*)>("nvmlSystemGetCudaDriverVersion_v2"),
        .count = TRY(library.symbol<Return(unsigned*)>("nvmlDeviceGetCount_v2")),
        .by_index = TRY(library.symbol<Return(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2")),
        .by_address = library.optional_symbol<Return(const char*, Device*)>(
            "nvmlDeviceGetHandleByPciBusId_v2"),
        .name = TRY(library.symbol<Return(Device, char*, unsigned)>("nvmlDeviceGetName")),
        .uuid = TRY(library.symbol<Return(Device, char*, unsigned)>("nvmlDeviceGetUUID")),
        .pci_info = TRY(library.symbol<Return(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
        .memory = TRY(library.symbol<Return(Device, MemoryV1*)>("nvmlDeviceGetMemoryInfo")),
        .memory_v2 =
            library.optional_symbol<Return(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2"),
        .compute_capability = library.optional_symbol<Return(Device, int*, int*)>(
            "nvmlDeviceGetCudaComputeCapability"),
        .minor_number =
            library.optional_symbol<Return(Device, unsigned*)>("nvmlDeviceGetMinorNumber"),
        .mig_mode =
            library.optional_symbol<Return(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode"),
        .max_mig_devices =
            library.optional_symbol<Return(Device, unsigned*)>("nvmlDeviceGetMaxMigDeviceCount"),
        .mig_device = library.optional_symbol<Return(Device, unsigned, Device*)>(
            "nvmlDeviceGetMigDeviceHandleByIndex"),
        .compute_mode =
            library.optional_symbol<Return(Device, unsigned*)>("nvmlDeviceGetComputeMode"),
        .virtualization_mode =
            library.optional_symbol<Return(Device, unsigned*)>("nvmlDeviceGetVirtualizationMode"),
        .utilization =
            library.optional_symbol<Return(Device, Utilization*)>("nvmlDeviceGetUtilizationRates"),
    };
}

}  // namespace gpuprobe::backends::nvml
