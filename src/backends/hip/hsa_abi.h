// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/dynamic_library.h"

/// The part of libhsa-runtime64.so.1 that is called. Source of every signature and number: ROCm's
/// rocr-runtime, inc/hsa.h and inc/hsa_ext_amd.h, and the HSA Runtime Programmer's Reference
/// Manual 1.2, section 2.3.
namespace gpuprobe::backends::hsa {

using Status = int;
constexpr Status kSuccess = 0;
constexpr Status kBreak = 1;  ///< a callback ended an iteration
/// Also what hsa_init says where /dev/kfd is missing or closed to the caller.
constexpr Status kOutOfResources = 0x1008;

struct Agent {
    std::uint64_t handle = 0;
};
struct MemoryPool {
    std::uint64_t handle = 0;
};

constexpr std::uint32_t kDeviceTypeGpu = 1;
constexpr std::uint32_t kSegmentGlobal = 0;
constexpr std::uint8_t kIsApu = 1;  ///< first bit of the first byte of MemoryProperties

/// hsa_system_info_t
enum class SystemAttribute : int {
    VersionMajor = 0,      ///< uint16_t
    VersionMinor = 1,      ///< uint16_t
    BuildVersion = 0x200,  ///< const char*
};

/// hsa_agent_info_t and hsa_amd_agent_info_t; uint32_t unless said otherwise.
enum class Attribute : int {
    Name = 0,  ///< char[64]
    WavefrontSize = 6,
    Device = 17,
    ChipId = 0xA000,
    ComputeUnitCount = 0xA002,
    MaxClockFrequency = 0xA003,  ///< MHz
    DriverNodeId = 0xA004,
    Bdfid = 0xA006,
    MemoryWidth = 0xA007,         ///< bits
    MemoryMaxFrequency = 0xA008,  ///< MHz
    ProductName = 0xA009,         ///< char[64]
    Domain = 0xA00F,
    Uuid = 0xA011,              ///< char[21]
    MemoryAvailable = 0xA015,   ///< uint64_t; not in ROCm 5.2
    MemoryProperties = 0xA114,  ///< uint8_t[8]; not in ROCm 5.2
};

/// hsa_amd_memory_pool_info_t
enum class PoolAttribute : int {
    Segment = 0,  ///< uint32_t
    Size = 2,     ///< size_t
};

using AgentCallback = Status (*)(Agent, void*);
using PoolCallback = Status (*)(MemoryPool, void*);

/// Loaded whole or not at all.
struct Symbols {
    Status (*init)() = nullptr;
    Status (*status_string)(Status, const char**) = nullptr;
    Status (*system_info)(int, void*) = nullptr;
    Status (*iterate_agents)(AgentCallback, void*) = nullptr;
    Status (*agent_info)(Agent, int, void*) = nullptr;
    Status (*iterate_pools)(Agent, PoolCallback, void*) = nullptr;
    Status (*pool_info)(MemoryPool, int, void*) = nullptr;
};

/// Errors: NotFound, naming the function that a library of this name must have and has not.
Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::hsa
