// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/driver_library.h"
#include "report/pci_address.h"

/// The functions of libamdhip64.so.N that this backend calls, which are the same in versions 5 to
/// 7. Attributes and device properties are left out, because their numbers and layouts changed
/// between these versions. All signatures and numbers are from the HIP Runtime API reference,
/// "Device Management" and "hipError_t".
namespace gpuprobe::backends::hip {

using HipResult = int;
constexpr HipResult kSuccess = 0;
constexpr HipResult kInsufficientDriver = 35;
constexpr HipResult kNoDevice = 100;

using Device = int;

struct Uuid {
    char bytes[16] = {};  ///< the digits after "GPU-", without a final NUL
};

struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<HipResult(int*)> device_count{*this, "hipGetDeviceCount"};
    Symbol<const char*(HipResult)> error_name{*this, "hipGetErrorName"};
    Symbol<HipResult(int*)> runtime_version{*this, "hipRuntimeGetVersion"};
    Symbol<HipResult(int*)> driver_version{*this, "hipDriverGetVersion"};
    Symbol<HipResult(Device*, int)> device_get{*this, "hipDeviceGet"};
    Symbol<HipResult(char*, int, Device)> name{*this, "hipDeviceGetName"};
    Symbol<HipResult(std::size_t*, Device)> total_memory{*this, "hipDeviceTotalMem"};
    Symbol<HipResult(char*, int, int)> pci_bus_id{*this, "hipDeviceGetPCIBusId"};
    OptionalSymbol<HipResult(Uuid*, Device)> uuid{*this, "hipDeviceGetUuid"};  ///< since ROCm 5.2
};

/// The functions that run kernels on a device. These functions are the same in ROCm 5 to 7. Source:
/// the same reference, "Module Management", "Memory Management" and "Event Management".
struct ComputeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<HipResult(int)> set_device{*this, "hipSetDevice"};
    GpuRuntime runtime{.memory_info = {*this, "hipMemGetInfo"},
                       .allocate = {*this, "hipMalloc"},
                       .free = {*this, "hipFree"},
                       .allocate_host = {*this, "hipHostMalloc"},
                       .free_host = {*this, "hipHostFree"},
                       .load_module = {*this, "hipModuleLoadData"},
                       .unload_module = {*this, "hipModuleUnload"},
                       .function = {*this, "hipModuleGetFunction"},
                       .launch = {*this, "hipModuleLaunchKernel"},
                       .to_device = {*this, "hipMemcpyHtoDAsync"},
                       .to_host = {*this, "hipMemcpyDtoHAsync"},
                       .create_event = {*this, "hipEventCreateWithFlags"},
                       .destroy_event = {*this, "hipEventDestroy"},
                       .record = {*this, "hipEventRecord"},
                       .query = {*this, "hipEventQuery"}};
};

using Program = struct ProgramHandle*;

/// The compiler that is part of the runtime, libhiprtc.so.N. Source: HIPRTC API reference.
struct CompilerSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<int(Program*,
               const char* source,
               const char* name,
               int headers,
               const char** header_texts,
               const char** header_names)>
        create{*this, "hiprtcCreateProgram"};
    Symbol<int(Program, int options, const char** texts)> compile{*this, "hiprtcCompileProgram"};
    Symbol<int(Program, std::size_t*)> code_size{*this, "hiprtcGetCodeSize"};
    Symbol<int(Program, char*)> code{*this, "hiprtcGetCode"};
    Symbol<int(Program, std::size_t*)> log_size{*this, "hiprtcGetProgramLogSize"};
    Symbol<int(Program, char*)> log{*this, "hiprtcGetProgramLog"};
    Symbol<int(Program*)> destroy{*this, "hiprtcDestroyProgram"};
};

/// The runtime's name for an error code, with the code, such as "hipErrorNoDevice (100)".
std::string words_of(const Symbols& api, HipResult code);

}  // namespace gpuprobe::backends::hip

/// The functions of libhsa-runtime64.so.1 that this backend calls. All signatures and numbers are
/// from ROCm's rocr-runtime, inc/hsa.h and inc/hsa_ext_amd.h, and the HSA Runtime Programmer's
/// Reference Manual 1.2, section 2.3.
namespace gpuprobe::backends::hsa {

using Status = int;
constexpr Status kSuccess = 0;
constexpr Status kBreak = 1;  ///< the code for an iteration that a callback ended
/// hsa_init also returns this code if /dev/kfd is missing or the caller has no permission to open
/// it.
constexpr Status kOutOfResources = 0x1008;

struct Agent {
    std::uint64_t handle = 0;
};
struct MemoryPool {
    std::uint64_t handle = 0;
};

constexpr std::uint32_t kDeviceTypeGpu = 1;
constexpr std::uint32_t kSegmentGlobal = 0;
constexpr std::uint8_t kIsApu = 1;  ///< the first bit of the first byte of MemoryProperties

/// hsa_system_info_t
enum class SystemAttribute : int {
    VersionMajor = 0,      ///< uint16_t
    VersionMinor = 1,      ///< uint16_t
    BuildVersion = 0x200,  ///< const char*
};

/// hsa_agent_info_t and hsa_amd_agent_info_t; uint32_t unless noted otherwise.
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

struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Status()> init{*this, "hsa_init"};
    Symbol<Status(Status, const char**)> status_string{*this, "hsa_status_string"};
    Symbol<Status(int, void*)> system_info{*this, "hsa_system_get_info"};
    Symbol<Status(AgentCallback, void*)> iterate_agents{*this, "hsa_iterate_agents"};
    Symbol<Status(Agent, int, void*)> agent_info{*this, "hsa_agent_get_info"};
    Symbol<Status(Agent, PoolCallback, void*)> iterate_pools{*this,
                                                             "hsa_amd_agent_iterate_memory_pools"};
    Symbol<Status(MemoryPool, int, void*)> pool_info{*this, "hsa_amd_memory_pool_get_info"};
};

}  // namespace gpuprobe::backends::hsa

namespace gpuprobe::backends {

/// Visits AMD's GPUs through ROCm. Uses the HSA runtime, which every ROCm program loads and which
/// reports the most facts, or the HIP runtime if the HSA runtime is missing. Uses no device memory.
Answer visit_rocm(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);
/// Visits the same GPUs as visit_rocm(), but only through the HIP runtime. The later stages call
/// this function, because only the HIP runtime can compile kernels.
Answer visit_hip(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Visits the GPUs among the agents of a loaded HSA runtime. Devices that HSA lists cannot be
/// opened for computing, because HSA has no compiler; the compiler is in the HIP runtime.
Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit);

// The following functions convert strings and numbers from ROCm's libraries into the form that
// facts use.

/// A UUID in the form "GPU-0123456789abcdef", from HSA's string ("GPU-" and 16 digits) or HIP's
/// string (only the digits). nullopt for "GPU-XX", which devices without a serial number report,
/// and for zeros. Source: hsa_ext_amd.h, HSA_AMD_AGENT_INFO_UUID.
std::optional<std::string> rocm_uuid(std::string_view text);

/// The PCI address in a location: bits 15 to 8 contain the bus, bits 7 to 3 the device, and bits 2
/// to 0 the function. The higher bits contain the number of a partition and are ignored. Source:
/// hsa_ext_amd.h, HSA_AMD_AGENT_INFO_BDFID; Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c,
/// location_id.
PciAddress rocm_address(std::uint32_t domain, std::uint32_t location);

/// A version as a string, such as "6.1.40092" for 60140092; nullopt for 0 and negative numbers.
/// Source: HIP's hip_version.h, HIP_VERSION.
std::optional<std::string> hip_version_text(int version);

/// The content of hip/preamble.hip, embedded at build time.
std::string_view hip_preamble();

}  // namespace gpuprobe::backends
