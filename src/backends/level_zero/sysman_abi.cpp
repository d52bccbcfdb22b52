// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/sysman_abi.h"

namespace gpuprobe::backends::zes {

::gpuprobe::Result<Symbols> load(const DynamicLibrary& library) {
    return Symbols{
        .init = TRY(library.symbol<Result(std::uint32_t)>("zesInit")),
        .driver_get = TRY(library.symbol<Result(std::uint32_t*, Driver*)>("zesDriverGet")),
        .device_get = TRY(library.symbol<Result(Driver, std::uint32_t*, Device*)>("zesDeviceGet")),
        .device_properties =
            TRY(library.symbol<Result(Device, DeviceProperties*)>("zesDeviceGetProperties")),
        .pci_properties =
            TRY(library.symbol<Result(Device, PciProperties*)>("zesDevicePciGetProperties")),
        .memories = TRY(
            library.symbol<Result(Device, std::uint32_t*, Memory*)>("zesDeviceEnumMemoryModules")),
        .memory_properties =
            TRY(library.symbol<Result(Memory, MemoryProperties*)>("zesMemoryGetProperties")),
        .memory_state = TRY(library.symbol<Result(Memory, MemoryState*)>("zesMemoryGetState")),
    };
}

}  // namespace gpuprobe::backends::zes
