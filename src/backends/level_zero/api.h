// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/driver_library.h"

/// The part of libze_loader.so.1 that we call. It is declared here because distributions have the
/// headers only for some processors, and the headers in Debian 12 lack half of these declarations.
/// Source of all layouts and numbers: oneAPI Level Zero specification 1.11, and level-zero's
/// include/ze_api.h, include/zes_api.h and include/loader/ze_loader.h.
namespace gpuprobe::backends::ze {

using Code = std::uint32_t;
constexpr Code kSuccess = 0;
constexpr Code kNotReady = 1;
/// Initialization also returns this if no driver is installed or no driver finds a device.
constexpr Code kUninitialized = 0x78000001;

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

/// Chained to DeviceProperties if the driver lists kIpVersionExtension.
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

/// The functions that a query calls.
struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Code(std::uint32_t)> init{*this, "zeInit"};
    Symbol<Code(std::uint32_t*, Driver*)> driver_get{*this, "zeDriverGet"};
    Symbol<Code(Driver, std::uint32_t*)> api_version{*this, "zeDriverGetApiVersion"};
    Symbol<Code(Driver, DriverProperties*)> driver_properties{*this, "zeDriverGetProperties"};
    Symbol<Code(Driver, std::uint32_t*, ExtensionProperties*)> extensions{
        *this, "zeDriverGetExtensionProperties"};
    Symbol<Code(Driver, std::uint32_t*, Device*)> device_get{*this, "zeDeviceGet"};
    Symbol<Code(Device, DeviceProperties*)> device_properties{*this, "zeDeviceGetProperties"};
    Symbol<Code(Device, ModuleProperties*)> module_properties{*this, "zeDeviceGetModuleProperties"};
    Symbol<Code(Device, std::uint32_t*, MemoryProperties*)> memory_properties{
        *this, "zeDeviceGetMemoryProperties"};
    // Functions that only newer loaders have; zeInitDrivers since 1.10.
    OptionalSymbol<Code(std::uint32_t*, Driver*, InitDriverTypeDesc*)> init_drivers{
        *this, "zeInitDrivers"};
    OptionalSymbol<Code(Device, PciExtProperties*)> pci_properties{*this,
                                                                   "zeDevicePciGetPropertiesExt"};
    OptionalSymbol<Code(std::size_t*, ComponentVersion*)> loader_versions{*this,
                                                                          "zelLoaderGetVersions"};
};

using Context = struct ContextHandle*;
using CommandQueue = struct CommandQueueHandle*;
using CommandList = struct CommandListHandle*;
using Module = struct ModuleHandle*;
using Kernel = struct KernelHandle*;

/// ze_structure_type_t, for the descriptions below.
enum class Description : std::uint32_t {
    OfQueueGroup = 0x6,
    OfContext = 0xd,
    OfCommandQueue = 0xe,
    OfCommandList = 0xf,
    OfDeviceMemory = 0x15,
    OfHostMemory = 0x16,
    OfModule = 0x1b,
    OfKernel = 0x1d,
};

struct QueueGroupProperties {
    Description type = Description::OfQueueGroup;
    void* next = nullptr;
    std::uint32_t flags = 0;
    std::size_t max_fill_pattern = 0;
    std::uint32_t queues = 0;
};
static_assert(sizeof(QueueGroupProperties) == 40);
constexpr std::uint32_t kQueueGroupCompute = 1;  ///< ze_command_queue_group_property_flag_t

struct ContextDesc {
    Description type = Description::OfContext;
    const void* next = nullptr;
    std::uint32_t flags = 0;
};
struct CommandQueueDesc {
    Description type = Description::OfCommandQueue;
    const void* next = nullptr;
    std::uint32_t ordinal = 0;
    std::uint32_t index = 0;
    std::uint32_t flags = 0;
    std::uint32_t mode = 2;  ///< ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
    std::uint32_t priority = 0;
};
static_assert(sizeof(CommandQueueDesc) == 40);
struct CommandListDesc {
    Description type = Description::OfCommandList;
    const void* next = nullptr;
    std::uint32_t ordinal = 0;
    std::uint32_t flags = 0;
};
struct DeviceMemoryDesc {
    Description type = Description::OfDeviceMemory;
    const void* next = nullptr;
    std::uint32_t flags = 0;
    std::uint32_t ordinal = 0;
};
struct HostMemoryDesc {
    Description type = Description::OfHostMemory;
    const void* next = nullptr;
    std::uint32_t flags = 0;
};
struct ModuleDesc {
    Description type = Description::OfModule;
    const void* next = nullptr;
    std::uint32_t format = 0;  ///< ZE_MODULE_FORMAT_IL_SPIRV
    std::size_t size = 0;
    const unsigned char* bytes = nullptr;
    const char* flags = "";
    const void* constants = nullptr;
};
static_assert(sizeof(ModuleDesc) == 56);
struct KernelDesc {
    Description type = Description::OfKernel;
    const void* next = nullptr;
    std::uint32_t flags = 0;
    const char* name = nullptr;
};
static_assert(sizeof(KernelDesc) == 32);
struct GroupCount {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
    std::uint32_t z = 1;
};

/// The functions that run kernels on a device, all of them since 1.0.
struct ComputeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Code(Device, std::uint32_t*, QueueGroupProperties*)> queue_groups{
        *this, "zeDeviceGetCommandQueueGroupProperties"};
    Symbol<Code(Driver, const ContextDesc*, Context*)> create_context{*this, "zeContextCreate"};
    Symbol<Code(Context)> destroy_context{*this, "zeContextDestroy"};
    Symbol<Code(Context, Device, const CommandQueueDesc*, CommandQueue*)> create_queue{
        *this, "zeCommandQueueCreate"};
    Symbol<Code(CommandQueue)> destroy_queue{*this, "zeCommandQueueDestroy"};
    Symbol<Code(CommandQueue, std::uint32_t, CommandList*, void* fence)> execute{
        *this, "zeCommandQueueExecuteCommandLists"};
    Symbol<Code(CommandQueue, std::uint64_t nanoseconds)> synchronize{*this,
                                                                      "zeCommandQueueSynchronize"};
    Symbol<Code(Context, Device, const CommandListDesc*, CommandList*)> create_list{
        *this, "zeCommandListCreate"};
    Symbol<Code(CommandList)> destroy_list{*this, "zeCommandListDestroy"};
    Symbol<Code(CommandList)> close_list{*this, "zeCommandListClose"};
    Symbol<Code(CommandList)> reset_list{*this, "zeCommandListReset"};
    Symbol<Code(CommandList, void*, const void*, std::size_t, void*, std::uint32_t, void**)>
        append_copy{*this, "zeCommandListAppendMemoryCopy"};
    Symbol<Code(CommandList, Kernel, const GroupCount*, void*, std::uint32_t, void**)>
        append_launch{*this, "zeCommandListAppendLaunchKernel"};
    Symbol<Code(CommandList, void*, std::uint32_t, void**)> append_barrier{
        *this, "zeCommandListAppendBarrier"};
    Symbol<Code(
        Context, const DeviceMemoryDesc*, std::size_t, std::size_t alignment, Device, void**)>
        allocate_device{*this, "zeMemAllocDevice"};
    Symbol<Code(Context, const HostMemoryDesc*, std::size_t, std::size_t alignment, void**)>
        allocate_host{*this, "zeMemAllocHost"};
    Symbol<Code(Context, void*)> free{*this, "zeMemFree"};
    Symbol<Code(Context, Device, const ModuleDesc*, Module*, void** log)> create_module{
        *this, "zeModuleCreate"};
    Symbol<Code(Module)> destroy_module{*this, "zeModuleDestroy"};
    Symbol<Code(Module, const KernelDesc*, Kernel*)> create_kernel{*this, "zeKernelCreate"};
    Symbol<Code(Kernel)> destroy_kernel{*this, "zeKernelDestroy"};
    Symbol<Code(Kernel, std::uint32_t, std::uint32_t, std::uint32_t)> set_group_size{
        *this, "zeKernelSetGroupSize"};
    Symbol<Code(Kernel, std::uint32_t, std::size_t, const void*)> set_argument{
        *this, "zeKernelSetArgumentValue"};
};

/// Fills `items` by calling `query` twice, first for the length of the list. At most `limit` items.
/// Returns the code of the last call; `items` is empty after an error of the second call.
template <class Item, class Query>
Code listed(const Query& query, std::uint32_t limit, std::vector<Item>& items) {
    std::uint32_t count = 0;
    if (const auto code = query(&count, nullptr); code != kSuccess)
        return code;
    count = std::min(count, limit);
    items.assign(count, Item{});
    if (count == 0)
        return kSuccess;
    const auto code = query(&count, items.data());
    items.resize(code == kSuccess ? std::min<std::size_t>(count, items.size()) : 0);
    return code;
}

}  // namespace gpuprobe::backends::ze

/// System management: the "Sysman API" of the specification.
namespace gpuprobe::backends::zes {

using ze::Code;
using ze::kSuccess;

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

/// The functions of Sysman. A loader before 1.9 lacks zesInit, so the table does not load.
struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Code(std::uint32_t)> init{*this, "zesInit"};
    Symbol<Code(std::uint32_t*, Driver*)> driver_get{*this, "zesDriverGet"};
    Symbol<Code(Driver, std::uint32_t*, Device*)> device_get{*this, "zesDeviceGet"};
    Symbol<Code(Device, DeviceProperties*)> device_properties{*this, "zesDeviceGetProperties"};
    Symbol<Code(Device, PciProperties*)> pci_properties{*this, "zesDevicePciGetProperties"};
    Symbol<Code(Device, std::uint32_t*, Memory*)> memories{*this, "zesDeviceEnumMemoryModules"};
    Symbol<Code(Memory, MemoryProperties*)> memory_properties{*this, "zesMemoryGetProperties"};
    Symbol<Code(Memory, MemoryState*)> memory_state{*this, "zesMemoryGetState"};
};

}  // namespace gpuprobe::backends::zes
