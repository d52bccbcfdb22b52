// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backends/dynamic_library.h"

/// The part of libamdhip64.so.N that is called, the same in versions 5 to 7. Attributes and device
/// properties are not: their numbers and layouts changed between those. Source of every signature
/// and number: HIP Runtime API reference, "Device Management" and "hipError_t".
namespace gpuprobe::backends::hip {

using HipResult = int;
constexpr HipResult kSuccess = 0;
constexpr HipResult kInsufficientDriver = 35;
constexpr HipResult kNoDevice = 100;

using Device = int;

struct Uuid {
    char bytes[16] = {};  ///< text: the digits behind "GPU-", without a final NUL
};

/// Loaded whole or not at all.
struct Symbols {
    HipResult (*device_count)(int*) = nullptr;
    const char* (*error_name)(HipResult) = nullptr;
    HipResult (*runtime_version)(int*) = nullptr;
    HipResult (*driver_version)(int*) = nullptr;
    HipResult (*device_get)(Device*, int) = nullptr;
    HipResult (*name)(char*, int, Device) = nullptr;
    HipResult (*total_memory)(std::size_t*, Device) = nullptr;
    HipResult (*pci_bus_id)(char*, int, int) = nullptr;
    HipResult (*uuid)(Uuid*, Device) = nullptr;  ///< null before ROCm 5.2
};

/// Errors: NotFound, naming the function that a library of this name must have and has not.
Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::hip
