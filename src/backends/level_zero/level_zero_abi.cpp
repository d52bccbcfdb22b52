// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero_abi.h"

namespace gpuprobe::backends::ze {

::gpuprobe::Result<Symbols> load(const DynamicLibrary& library) {
    return Symbols{
        .init = TRY(library.symbol<Result(std::uint32_t)>("zeInit")),
        .driver_get = TRY(library.symbol<Result(std::uint32_t*, Driver*)>("zeDriverGet")),
        .init_drivers =
            library.optional_symbol<Result(std::uint32_t*, Driver*, InitDriverTypeDesc*)>(
                "zeInitDrivers"),
        .api_version = TRY(library.symbol<Result(Driver, std::uint32_t*)>("zeDriverGetApiVersion")),
        .driver_properties =
            TRY(library.symbol<Result(Driver, DriverProperties*)>("zeDriverGetProperties")),
        .extensions = TRY(library.symbol<Result(Driver, std::uint32_t*, ExtensionProperties*)>(
            "zeDriverGetExtensionProperties")),
        .device_get = TRY(library.symbol<Result(Driver, std::uint32_t*, Device*)>("zeDeviceGet")),
        .device_properties =
            TRY(library.symbol<Result(Device, DeviceProperties*)>("zeDeviceGetProperties")),
        .module_properties =
            TRY(library.symbol<Result(Device, ModuleProperties*)>("zeDeviceGetModuleProperties")),
        .memory_properties = TRY(library.symbol<Result(Device, std::uint32_t*, MemoryProperties*)>(
            "zeDeviceGetMemoryProperties")),
        .pci_properties = library.optional_symbol<Result(Device, PciExtProperties*)>(
            "zeDevicePciGetPropertiesExt"),
        .loader_versions = library.optional_symbol<Result(std::size_t*, ComponentVersion*)>(
            "zelLoaderGetVersions"),
    };
}

}  // namespace gpuprobe::backends::ze
