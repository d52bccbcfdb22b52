// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/dynamic_library.h"

/// The part of libnvidia-ml.so.1 that is called. Source of every layout and number: NVML API
/// Reference Guide, "Device Structs", "Device Queries" and "nvmlReturn_t"; the suffix is the ABI
/// version.
namespace gpuprobe::backends::nvml {

using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kDriverNotLoaded = 9;
constexpr Return kLibraryNotFound = 12;
constexpr Return kVersionMismatch = 18;

using Device = struct DeviceHandle*;

struct PciInfo {
    char bus_id_legacy[16] = {};
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned pci_device_id = 0;     ///< device << 16 | vendor
    unsigned pci_subsystem_id = 0;  ///< likewise
    char bus_id[32] = {};           ///< "00000000:01:00.0"
};
static_assert(sizeof(PciInfo) == 68);

struct MemoryV2 {
    unsigned version = 0;
    unsigned long long total = 0;
    unsigned long long reserved = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};
static_assert(sizeof(MemoryV2) == 40);
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2u << 24u;

struct MemoryV1 {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

/// Per cent of the driver's last sampling period, a sixth of a second to a second.
struct Utilization {
    unsigned gpu = 0;
    unsigned memory = 0;
};

/// Loaded whole or not at all; what newer drivers add may be null.
struct Symbols {
    Return (*init)() = nullptr;
    const char* (*error_string)(Return) = nullptr;
    Return (*driver_version)(char*, unsigned) = nullptr;
    Return (*library_version)(char*, unsigned) = nullptr;
    Return (*cuda_version)(int*) = nullptr;
    Return (*count)(unsigned*) = nullptr;
    Return (*by_index)(unsigned, Device*) = nullptr;
    Return (*by_address)(const char*, Device*) = nullptr;
    Return (*name)(Device, char*, unsigned) = nullptr;
    Return (*uuid)(Device, char*, unsigned) = nullptr;
    Return (*pci_info)(Device, PciInfo*) = nullptr;
    Return (*memory)(Device, MemoryV1*) = nullptr;
    Return (*memory_v2)(Device, MemoryV2*) = nullptr;
    Return (*compute_capability)(Device, int*, int*) = nullptr;
    Return (*minor_number)(Device, unsigned*) = nullptr;
    Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
    Return (*max_mig_devices)(Device, unsigned*) = nullptr;
    Return (*mig_device)(Device, unsigned, Device*) = nullptr;
    Return (*compute_mode)(Device, unsigned*) = nullptr;
    Return (*virtualization_mode)(Device, unsigned*) = nullptr;
    Return (*utilization)(Device, Utilization*) = nullptr;
};

/// Errors: NotFound, naming the function that a library of this name must have and has not.
Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::nvml
