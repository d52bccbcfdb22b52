// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/backend.h"
#include "backends/driver_library.h"
#include "base/files.h"
#include "base/units.h"

/// The functions of libnvidia-ml.so.1 that this backend calls. All layouts and numbers are from the
/// NVML API Reference Guide, "Device Structs", "Device Queries" and "nvmlReturn_t". The suffix of a
/// function is its ABI version.
namespace gpuprobe::backends::nvml {

using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kInsufficientSize = 7;
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
    unsigned pci_subsystem_id = 0;  ///< subsystem device << 16 | subsystem vendor
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

/// The resources of a MIG instance. The unit of memory is MiB.
struct Attributes {
    unsigned multiprocessors = 0;
    unsigned copy_engines = 0;
    unsigned decoders = 0;
    unsigned encoders = 0;
    unsigned jpeg_engines = 0;
    unsigned ofa_engines = 0;
    unsigned gpu_slices = 0;
    unsigned compute_slices = 0;
    unsigned long long memory_mib = 0;
};
static_assert(sizeof(Attributes) == 40);

/// The utilization in percent during the last sampling period, which lasts between 1/6 second and 1
/// second.
struct Utilization {
    unsigned gpu = 0;
    unsigned memory = 0;
};

/// The memory that a process uses on a device, in the layout of versions 2 and 3 of
/// nvmlDeviceGetComputeRunningProcesses(). The layout of version 1 has no members for the
/// instances.
struct ProcessInfo {
    unsigned pid = 0;
    unsigned long long used = 0;  ///< the memory in bytes; all ones if unknown
    unsigned gpu_instance = 0;    ///< all ones if the process uses the whole device
    unsigned compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);
constexpr unsigned long long kUsedNotKnown = ~0ULL;
constexpr unsigned kNoInstance = ~0U;

/// The reasons why the clocks are reduced: nvmlClocksEventReasons.
enum ClocksReason : unsigned long long {
    kSwPowerCap = 0x4,
    kHwSlowdown = 0x8,
    kSyncBoost = 0x10,
    kSwThermal = 0x20,
    kHwThermal = 0x40,
    kPowerBrake = 0x80,
};

/// The numbers that select an ECC counter: errors since the driver was loaded (NVML_VOLATILE_ECC),
/// and uncorrected errors (two or more bits).
constexpr int kVolatile = 0;
constexpr int kUncorrected = 1;

/// A licensable software feature of a virtual GPU, in the layout of version 4 of
/// nvmlDeviceGetGridLicensableFeatures().
struct LicensableFeature {
    int code = 0;
    unsigned state = 0;  ///< nonzero if the feature is licensed
    char info[128] = {};
    char product[128] = {};
    unsigned enabled = 0;  ///< nonzero if this GPU uses the feature
    unsigned expires[4] = {};
};
static_assert(sizeof(LicensableFeature) == 284);
struct LicensableFeatures {
    int is_supported = 0;  ///< nonzero if this is a virtual GPU
    unsigned count = 0;
    LicensableFeature features[3];
};
static_assert(sizeof(LicensableFeatures) == 860);

struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Return()> init{*this, "nvmlInit_v2"};
    Symbol<const char*(Return)> error_string{*this, "nvmlErrorString"};
    Symbol<Return(char*, unsigned)> driver_version{*this, "nvmlSystemGetDriverVersion"};
    Symbol<Return(char*, unsigned)> library_version{*this, "nvmlSystemGetNVMLVersion"};
    Symbol<Return(unsigned*)> count{*this, "nvmlDeviceGetCount_v2"};
    Symbol<Return(unsigned, Device*)> by_index{*this, "nvmlDeviceGetHandleByIndex_v2"};
    Symbol<Return(Device, char*, unsigned)> name{*this, "nvmlDeviceGetName"};
    Symbol<Return(Device, char*, unsigned)> uuid{*this, "nvmlDeviceGetUUID"};
    Symbol<Return(Device, PciInfo*)> pci_info{*this, "nvmlDeviceGetPciInfo_v3"};
    Symbol<Return(Device, MemoryV1*)> memory{*this, "nvmlDeviceGetMemoryInfo"};
    // The following functions exist only in newer drivers.
    OptionalSymbol<Return(int*)> cuda_version{*this, "nvmlSystemGetCudaDriverVersion_v2"};
    OptionalSymbol<Return(const char*, Device*)> by_address{*this,
                                                            "nvmlDeviceGetHandleByPciBusId_v2"};
    OptionalSymbol<Return(const char*, Device*)> by_uuid{*this, "nvmlDeviceGetHandleByUUID"};
    OptionalSymbol<Return(Device, MemoryV2*)> memory_v2{*this, "nvmlDeviceGetMemoryInfo_v2"};
    OptionalSymbol<Return(Device, int*, int*)> compute_capability{
        *this, "nvmlDeviceGetCudaComputeCapability"};
    OptionalSymbol<Return(Device, unsigned*)> minor_number{*this, "nvmlDeviceGetMinorNumber"};
    OptionalSymbol<Return(Device, unsigned*, unsigned*)> mig_mode{*this, "nvmlDeviceGetMigMode"};
    OptionalSymbol<Return(Device, unsigned*)> max_mig_devices{*this,
                                                              "nvmlDeviceGetMaxMigDeviceCount"};
    OptionalSymbol<Return(Device, unsigned, Device*)> mig_device{
        *this, "nvmlDeviceGetMigDeviceHandleByIndex"};
    OptionalSymbol<Return(Device, unsigned*)> gpu_instance{*this, "nvmlDeviceGetGpuInstanceId"};
    OptionalSymbol<Return(Device, unsigned*)> compute_instance{*this,
                                                               "nvmlDeviceGetComputeInstanceId"};
    OptionalSymbol<Return(Device, Attributes*)> attributes{*this, "nvmlDeviceGetAttributes_v2"};
    OptionalSymbol<Return(Device, unsigned*)> compute_mode{*this, "nvmlDeviceGetComputeMode"};
    OptionalSymbol<Return(Device, unsigned*)> virtualization_mode{
        *this, "nvmlDeviceGetVirtualizationMode"};
    OptionalSymbol<Return(Device, Utilization*)> utilization{*this,
                                                             "nvmlDeviceGetUtilizationRates"};
    OptionalSymbol<Return(Device, unsigned*, ProcessInfo*)> compute_processes{
        *this, "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses_v2"};
    OptionalSymbol<Return(Device, unsigned*, ProcessInfo*)> graphics_processes{
        *this, "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v2"};
    OptionalSymbol<Return(Device, unsigned*)> persistence_mode{*this,
                                                               "nvmlDeviceGetPersistenceMode"};
    OptionalSymbol<Return(Device, unsigned*)> power_limit{*this,
                                                          "nvmlDeviceGetPowerManagementLimit"};
    OptionalSymbol<Return(Device, unsigned*)> default_power_limit{
        *this, "nvmlDeviceGetPowerManagementDefaultLimit"};
    OptionalSymbol<Return(Device, unsigned long long*)> clocks_reasons{
        *this, "nvmlDeviceGetCurrentClocksThrottleReasons"};
    OptionalSymbol<Return(Device, int, int, unsigned long long*)> ecc_errors{
        *this, "nvmlDeviceGetTotalEccErrors"};
    OptionalSymbol<Return(Device, unsigned*, unsigned*, unsigned*, unsigned*)> remapped_rows{
        *this, "nvmlDeviceGetRemappedRows"};
    OptionalSymbol<Return(Device, unsigned*)> pages_pending{
        *this, "nvmlDeviceGetRetiredPagesPendingStatus"};
    OptionalSymbol<Return(Device, LicensableFeatures*)> licensable{
        *this, "nvmlDeviceGetGridLicensableFeatures_v4"};
};

}  // namespace gpuprobe::backends::nvml

namespace gpuprobe::backends {

/// Reports the facts from NVML, NVIDIA's management library: identity, memory (with the reserved
/// part as a separate fact), compute capability and MIG. NVML does not need CUDA and uses no device
/// memory. On the machines that were measured, NVML took a tenth of the time of cuInit.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

/// Reports the fact `processes`: the processes with a context on each device, and the memory that
/// each process uses. The fact is null if NVML does not report the processes. The process ids
/// belong to this process's PID namespace, and processes outside this namespace are left out,
/// because nvidia.ko translates the ids (open-gpu-kernel-modules,
/// kernel-open/nvidia/os-interface.c, os_find_ns_pid). Old drivers report the ids of the initial
/// namespace.
Answer list_nvml_processes(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at `address`; nullopt if unknown. The function queries only this GPU,
/// because NVML needs some milliseconds for each GPU.
std::optional<Bytes> nvml_free_memory(const PciAddress& address);
/// The free memory of the MIG instance with the UUID `uuid`; nullopt if unknown.
std::optional<Bytes> nvml_free_memory(const std::string& uuid);

// Call the following functions before you open an NVIDIA GPU through any API.

/// The UUID ("GPU-…") of the NVIDIA GPU that the target names by address, as reported by the kernel
/// driver; for a target "uuid:MIG-…", the UUID in the target. nullopt for GPUs of other vendors,
/// for a GPU that has not been initialized yet, and for the address of a GPU in MIG mode, because
/// its instances have separate UUIDs.
/// Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c.
std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target);

/// In the later stages, hides all GPUs except the target's GPU from NVIDIA's CUDA and OpenCL, which
/// initialize every visible GPU. Initializing a GPU takes about 0.2 s (driver 580.159, H200). Call
/// this function before the driver is loaded. An existing CUDA_VISIBLE_DEVICES is kept.
void start_only_wanted(const ProbeTarget& target);

/// The free memory of an NVIDIA GPU according to NVML; nullopt for other GPUs, or if NVML does not
/// report the free memory. Call this function before creating a context, which uses half a
/// gigabyte. Refusals: `out-of-memory` if less than kMinNvidiaFree is free, because the context
/// would take memory that other processes on the GPU need.
Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts);

/// The free memory required for a context. On an H200, a CUDA context uses 523 MiB.
constexpr Bytes kMinNvidiaFree = gib(1);

}  // namespace gpuprobe::backends
