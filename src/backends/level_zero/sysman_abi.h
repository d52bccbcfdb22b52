// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/level_zero/level_zero_abi.h"

/// The part of libze_loader.so.1's system management API that is called. Source of every layout and
/// number: oneAPI Level Zero specification 1.11, "Sysman API", and level-zero's include/zes_api.h.
namespace gpuprobe::backends::zes {

using ze::kSuccess;
using ze::Result;

using Driver = struct SysmanDriverHandle*;
using Device = struct SysmanDeviceHandle*;
using Memory = struct SysmanMemoryHandle*;

/// zes_structure_type_t
enum class Structure : std::uint32_t {
    DeviceProperties = 0x1,
    PciProperties = 0x2,
    MemoryProperties = 0xb,
    MemoryState = 0x1e,
};

struct DeviceProperties {
    Structure type = Structure::DeviceProperties;
    void* next = nullptr;
    ze::DeviceProperties core = {};
    std::uint32_t subdevices = 0;
    char serial_number[64] = {};
    char board_number[64] = {};
    char brand_name[64] = {};
    char model_name[64] = {};
    char vendor_name[64] = {};
    char driver_version[64] = {};
};
static_assert(sizeof(DeviceProperties) == 776);

struct PciProperties {
    Structure type = Structure::PciProperties;
    void* next = nullptr;
    std::uint32_t domain = 0;
    std::uint32_t bus = 0;
    std::uint32_t device = 0;
    std::uint32_t function = 0;
    std::int32_t generation = 0;
    std::int32_t width = 0;
    std::int64_t max_bandwidth = 0;
    std::uint8_t has_counters[3] = {};
};
static_assert(sizeof(PciProperties) == 56);

constexpr std::uint32_t kOnDevice = 1;  ///< zes_mem_loc_t

struct MemoryProperties {
    Structure type = Structure::MemoryProperties;
    void* next = nullptr;
    std::uint32_t technology = 0;  ///< zes_mem_type_t
    std::uint8_t on_subdevice = 0;
    std::uint32_t subdevice_id = 0;
    std::uint32_t location = 0;
    std::uint64_t physical_size = 0;
    std::int32_t bus_width = 0;
    std::int32_t channels = 0;
};
static_assert(sizeof(MemoryProperties) == 48);

/// zes_mem_health_t, best first
enum class Health : std::uint32_t { Unknown = 0, Ok = 1, Degraded = 2, Critical = 3, Replace = 4 };

struct MemoryState {
    Structure type = Structure::MemoryState;
    const void* next = nullptr;
    Health health = Health::Unknown;
    std::uint64_t free = 0;
    std::uint64_t size = 0;
};
static_assert(sizeof(MemoryState) == 40);

/// Loaded whole or not at all.
struct Symbols {
    Result (*init)(std::uint32_t) = nullptr;
    Result (*driver_get)(std::uint32_t*, Driver*) = nullptr;
    Result (*device_get)(Driver, std::uint32_t*, Device*) = nullptr;
    Result (*device_properties)(Device, DeviceProperties*) = nullptr;
    Result (*pci_properties)(Device, PciProperties*) = nullptr;
    Result (*memories)(Device, std::uint32_t*, Memory*) = nullptr;
    Result (*memory_properties)(Memory, MemoryProperties*) = nullptr;
    Result (*memory_state)(Memory, MemoryState*) = nullptr;
};

/// Errors: NotFound for a loader before 1.9, which has no zesInit, naming the function.
::gpuprobe::Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::zes
