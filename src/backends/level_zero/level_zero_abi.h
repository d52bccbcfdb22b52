// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/dynamic_library.h"

/// The part of libze_loader.so.1's core API that is called. Source of every layout and number:
/// oneAPI Level Zero specification 1.11, "Core API", and level-zero's include/ze_api.h and
/// include/loader/ze_loader.h.
namespace gpuprobe::backends::ze {

using Result = std::uint32_t;
constexpr Result kSuccess = 0;
/// Also what initialisation says where no driver is installed, or none finds a device.
constexpr Result kUninitialized = 0x78000001;

using Driver = struct DriverHandle*;
using Device = struct DeviceHandle*;

/// ze_structure_type_t
enum class Structure : std::uint32_t {
    DriverProperties = 0x1,
    DeviceProperties = 0x3,
    ModuleProperties = 0x5,
    MemoryProperties = 0x7,
    PciExtProperties = 0x10008,
    IpVersionExt = 0x1000f,
    InitDriverTypeDesc = 0x20021,
};

constexpr std::uint32_t kInitGpuOnly = 1;    ///< ze_init_flag_t
constexpr std::uint32_t kDriverTypeGpu = 1;  ///< ze_init_driver_type_flag_t
constexpr std::uint32_t kDriverTypeNpu = 2;

struct InitDriverTypeDesc {
    Structure type = Structure::InitDriverTypeDesc;
    const void* next = nullptr;
    std::uint32_t flags = 0;
};
static_assert(sizeof(InitDriverTypeDesc) == 24);

struct Uuid {
    std::uint8_t bytes[16] = {};
};

struct DriverProperties {
    Structure type = Structure::DriverProperties;
    void* next = nullptr;
    Uuid uuid = {};
    std::uint32_t version = 0;
};
static_assert(sizeof(DriverProperties) == 40);

struct ExtensionProperties {
    char name[256] = {};
    std::uint32_t version = 0;
};
static_assert(sizeof(ExtensionProperties) == 260);

/// ze_device_type_t
enum class DeviceKind : std::uint32_t { Gpu = 1, Cpu = 2, Fpga = 3, Mca = 4, Vpu = 5 };

constexpr std::uint32_t kDeviceIntegrated = 1;  ///< ze_device_property_flag_t
constexpr std::uint32_t kDeviceEcc = 4;

struct DeviceProperties {
    Structure type = Structure::DeviceProperties;
    void* next = nullptr;
    DeviceKind kind = {};
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::uint32_t flags = 0;
    std::uint32_t subdevice_id = 0;
    std::uint32_t core_clock_mhz = 0;
    std::uint64_t max_memory_allocation_size = 0;
    std::uint32_t max_hardware_contexts = 0;
    std::uint32_t max_command_queue_priority = 0;
    std::uint32_t threads_per_eu = 0;
    std::uint32_t simd_width = 0;
    std::uint32_t eus_per_subslice = 0;
    std::uint32_t subslices_per_slice = 0;
    std::uint32_t slices = 0;
    std::uint64_t timer_resolution = 0;
    std::uint32_t timestamp_valid_bits = 0;
    std::uint32_t kernel_timestamp_valid_bits = 0;
    Uuid uuid = {};
    char name[256] = {};
};
static_assert(sizeof(DeviceProperties) == 368);

/// Chained to DeviceProperties, where the driver lists kIpVersionExtension.
struct IpVersionExt {
    Structure type = Structure::IpVersionExt;
    const void* next = nullptr;
    std::uint32_t version = 0;
};
static_assert(sizeof(IpVersionExt) == 24);
constexpr const char* kIpVersionExtension = "ZE_extension_device_ip_version";

struct PciExtProperties {
    Structure type = Structure::PciExtProperties;
    void* next = nullptr;
    std::uint32_t domain = 0;
    std::uint32_t bus = 0;
    std::uint32_t device = 0;
    std::uint32_t function = 0;
    std::int32_t generation = 0;
    std::int32_t width = 0;
    std::int64_t max_bandwidth = 0;
};
static_assert(sizeof(PciExtProperties) == 48);

struct MemoryProperties {
    Structure type = Structure::MemoryProperties;
    void* next = nullptr;
    std::uint32_t flags = 0;
    std::uint32_t max_clock_rate = 0;
    std::uint32_t max_bus_width = 0;
    std::uint64_t total_size = 0;
    char name[256] = {};
};
static_assert(sizeof(MemoryProperties) == 296);

constexpr std::uint32_t kModuleFp16 = 1;  ///< ze_device_module_flag_t
constexpr std::uint32_t kModuleFp64 = 2;
constexpr std::uint32_t kModuleInt64Atomics = 4;
constexpr std::uint32_t kModuleDp4a = 8;

struct ModuleProperties {
    Structure type = Structure::ModuleProperties;
    void* next = nullptr;
    std::uint32_t spirv_version = 0;  ///< major << 16 | minor
    std::uint32_t flags = 0;
    std::uint32_t fp16_flags = 0;
    std::uint32_t fp32_flags = 0;
    std::uint32_t fp64_flags = 0;
    std::uint32_t max_arguments_size = 0;
    std::uint32_t printf_buffer_size = 0;
    Uuid native_kernel = {};
};
static_assert(sizeof(ModuleProperties) == 64);

/// zel_component_version_t
struct ComponentVersion {
    char name[64] = {};
    std::uint32_t spec_version = 0;
    int major = 0;
    int minor = 0;
    int patch = 0;
};
static_assert(sizeof(ComponentVersion) == 80);

/// Loaded whole or not at all; what newer loaders add may be null.
struct Symbols {
    Result (*init)(std::uint32_t) = nullptr;
    Result (*driver_get)(std::uint32_t*, Driver*) = nullptr;
    Result (*init_drivers)(std::uint32_t*, Driver*, InitDriverTypeDesc*) = nullptr;  ///< 1.10
    Result (*api_version)(Driver, std::uint32_t*) = nullptr;
    Result (*driver_properties)(Driver, DriverProperties*) = nullptr;
    Result (*extensions)(Driver, std::uint32_t*, ExtensionProperties*) = nullptr;
    Result (*device_get)(Driver, std::uint32_t*, Device*) = nullptr;
    Result (*device_properties)(Device, DeviceProperties*) = nullptr;
    Result (*module_properties)(Device, ModuleProperties*) = nullptr;
    Result (*memory_properties)(Device, std::uint32_t*, MemoryProperties*) = nullptr;
    Result (*pci_properties)(Device, PciExtProperties*) = nullptr;
    Result (*loader_versions)(std::size_t*, ComponentVersion*) = nullptr;
};

/// Errors: NotFound, naming the function that a library of this name must have and has not.
::gpuprobe::Result<Symbols> load(const DynamicLibrary& library);

}  // namespace gpuprobe::backends::ze
