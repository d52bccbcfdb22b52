// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/driver_library.h"
#include "report/facts.h"

/// The functions of libze_loader.so.1 that this backend calls, and the declarations that the
/// headers of level-zero 1.8.12 (Debian 12) lack. The names of these declarations are defined by
/// gpuprobe, so they work with any version of the headers. Source of their layouts and numbers:
/// oneAPI Level Zero specification 1.11.
namespace gpuprobe::backends::ze {

/// A ze_result_t, whose value may be newer than the headers.
using Code = std::uint32_t;

/// A structure of the API with the given type, whose other members are zero.
template <class Structure>
Structure made(decltype(Structure::stype) type) {
    Structure structure = {};
    structure.stype = type;
    return structure;
}

/// ze_init_driver_type_desc_t, since specification 1.10.
struct InitDriverTypeDesc {
    std::uint32_t stype = 0x20021;  ///< ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC
    const void* next = nullptr;
    std::uint32_t flags = 0;
};
static_assert(sizeof(InitDriverTypeDesc) == 24);
constexpr std::uint32_t kDriverTypeGpu = 1;  ///< ze_init_driver_type_flag_t
constexpr std::uint32_t kDriverTypeNpu = 2;

/// ze_device_ip_version_ext_t, since specification 1.7. The structure is chained to
/// ze_device_properties_t if the driver lists kIpVersionExtension.
struct IpVersionExt {
    std::uint32_t stype = 0x1000f;  ///< ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT
    const void* next = nullptr;
    std::uint32_t version = 0;
};
static_assert(sizeof(IpVersionExt) == 24);
constexpr const char* kIpVersionExtension = "ZE_extension_device_ip_version";

/// The functions that a query calls.
struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(zeInit)> init{*this, "zeInit"};
    Symbol<decltype(zeDriverGet)> driver_get{*this, "zeDriverGet"};
    Symbol<decltype(zeDriverGetApiVersion)> api_version{*this, "zeDriverGetApiVersion"};
    Symbol<decltype(zeDriverGetProperties)> driver_properties{*this, "zeDriverGetProperties"};
    Symbol<decltype(zeDriverGetExtensionProperties)> extensions{*this,
                                                                "zeDriverGetExtensionProperties"};
    Symbol<decltype(zeDeviceGet)> device_get{*this, "zeDeviceGet"};
    Symbol<decltype(zeDeviceGetProperties)> device_properties{*this, "zeDeviceGetProperties"};
    Symbol<decltype(zeDeviceGetModuleProperties)> module_properties{*this,
                                                                    "zeDeviceGetModuleProperties"};
    Symbol<decltype(zeDeviceGetMemoryProperties)> memory_properties{*this,
                                                                    "zeDeviceGetMemoryProperties"};
    // The following functions exist only in newer loaders; zeInitDrivers was added in 1.10.
    OptionalSymbol<ze_result_t(std::uint32_t*, ze_driver_handle_t*, InitDriverTypeDesc*)>
        init_drivers{*this, "zeInitDrivers"};
    OptionalSymbol<decltype(zeDevicePciGetPropertiesExt)> pci_properties{
        *this, "zeDevicePciGetPropertiesExt"};
    OptionalSymbol<decltype(zelLoaderGetVersions)> loader_versions{*this, "zelLoaderGetVersions"};
};

/// The functions that run kernels on a device. All of these functions have existed since Level Zero
/// 1.0.
struct ComputeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(zeDeviceGetCommandQueueGroupProperties)> queue_groups{
        *this, "zeDeviceGetCommandQueueGroupProperties"};
    Symbol<decltype(zeContextCreate)> create_context{*this, "zeContextCreate"};
    Symbol<decltype(zeContextDestroy)> destroy_context{*this, "zeContextDestroy"};
    Symbol<decltype(zeCommandQueueCreate)> create_queue{*this, "zeCommandQueueCreate"};
    Symbol<decltype(zeCommandQueueDestroy)> destroy_queue{*this, "zeCommandQueueDestroy"};
    Symbol<decltype(zeCommandQueueExecuteCommandLists)> execute{
        *this, "zeCommandQueueExecuteCommandLists"};
    Symbol<decltype(zeCommandQueueSynchronize)> synchronize{*this, "zeCommandQueueSynchronize"};
    Symbol<decltype(zeCommandListCreate)> create_list{*this, "zeCommandListCreate"};
    Symbol<decltype(zeCommandListDestroy)> destroy_list{*this, "zeCommandListDestroy"};
    Symbol<decltype(zeCommandListClose)> close_list{*this, "zeCommandListClose"};
    Symbol<decltype(zeCommandListReset)> reset_list{*this, "zeCommandListReset"};
    Symbol<decltype(zeCommandListAppendMemoryCopy)> append_copy{*this,
                                                                "zeCommandListAppendMemoryCopy"};
    Symbol<decltype(zeCommandListAppendLaunchKernel)> append_launch{
        *this, "zeCommandListAppendLaunchKernel"};
    Symbol<decltype(zeCommandListAppendBarrier)> append_barrier{*this,
                                                                "zeCommandListAppendBarrier"};
    Symbol<decltype(zeMemAllocDevice)> allocate_device{*this, "zeMemAllocDevice"};
    Symbol<decltype(zeMemAllocHost)> allocate_host{*this, "zeMemAllocHost"};
    Symbol<decltype(zeMemFree)> free{*this, "zeMemFree"};
    Symbol<decltype(zeModuleCreate)> create_module{*this, "zeModuleCreate"};
    Symbol<decltype(zeModuleDestroy)> destroy_module{*this, "zeModuleDestroy"};
    Symbol<decltype(zeKernelCreate)> create_kernel{*this, "zeKernelCreate"};
    Symbol<decltype(zeKernelDestroy)> destroy_kernel{*this, "zeKernelDestroy"};
    Symbol<decltype(zeKernelSetGroupSize)> set_group_size{*this, "zeKernelSetGroupSize"};
    Symbol<decltype(zeKernelSetArgumentValue)> set_argument{*this, "zeKernelSetArgumentValue"};
};

/// Fills `items` by calling `query` twice, first for the length of the list. The list has at most
/// `limit` items. Before the second call, each item is a copy of `empty`. Returns the code of the
/// last call. If the second call fails, `items` is empty.
template <class Item, class Query>
Code listed(const Query& query,
            std::uint32_t limit,
            std::vector<Item>& items,
            const Item& empty = {}) {
    std::uint32_t count = 0;
    if (const auto code = query(&count, nullptr); code != ZE_RESULT_SUCCESS)
        return code;
    count = std::min(count, limit);
    items.assign(count, empty);
    if (count == 0)
        return ZE_RESULT_SUCCESS;
    const auto code = query(&count, items.data());
    items.resize(code == ZE_RESULT_SUCCESS ? std::min<std::size_t>(count, items.size()) : 0);
    return code;
}

}  // namespace gpuprobe::backends::ze

/// System management: the "Sysman API" of the specification.
namespace gpuprobe::backends::zes {

/// The functions of Sysman. A loader older than 1.9 lacks the first three functions, so this table
/// cannot be loaded.
struct Symbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<ze_result_t(std::uint32_t flags)> init{*this, "zesInit"};
    Symbol<ze_result_t(std::uint32_t*, zes_driver_handle_t*)> driver_get{*this, "zesDriverGet"};
    Symbol<ze_result_t(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*)> device_get{
        *this, "zesDeviceGet"};
    Symbol<decltype(zesDeviceGetProperties)> device_properties{*this, "zesDeviceGetProperties"};
    Symbol<decltype(zesDevicePciGetProperties)> pci_properties{*this, "zesDevicePciGetProperties"};
    Symbol<decltype(zesDeviceEnumMemoryModules)> memories{*this, "zesDeviceEnumMemoryModules"};
    Symbol<decltype(zesMemoryGetProperties)> memory_properties{*this, "zesMemoryGetProperties"};
    Symbol<decltype(zesMemoryGetState)> memory_state{*this, "zesMemoryGetState"};
};

}  // namespace gpuprobe::backends::zes

namespace gpuprobe::backends {

/// Visits Intel's GPUs, and then Intel's NPUs. A GPU with several tiles is one device.
/// query_level_zero_sysman() reports the free memory.
Answer visit_level_zero(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Reports the total and free memory according to Level Zero's system management (Sysman). Sysman
/// is probed as a separate API, because a process crashes if it initializes both Sysman and the old
/// form of Sysman in the core API.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at `address`, according to Sysman; nullopt if unknown, for example
/// without CAP_PERFMON.
std::optional<Bytes> sysman_free_memory(const PciAddress& address);

constexpr const char* kLevelZeroLoader = "libze_loader.so.1";

/// Facts that all devices of one driver have in common.
struct LevelZeroDriver {
    std::optional<std::string> api_version = {};
    std::optional<std::string> driver_version = {};
    bool knows_ip_version = false;
};

/// All facts about one device. If the device's properties cannot be read, the member `error` of
/// `extra` contains the reason.
DeviceFacts level_zero_facts(const ze::Symbols& api,
                             ze_device_handle_t device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index);

/// The name of a kind of device, one of "gpu", "cpu", "fpga", "mca" and "npu"; the number as a
/// string for newer kinds; nullopt for 0, which means that the driver did not set the kind.
std::optional<std::string> level_zero_kind_word(ze_device_type_t kind);

/// The device type, named as in the facts of all APIs. The type of an NPU or FPGA is
/// `other`. nullopt if `kind` is 0.
std::optional<DeviceType> level_zero_type(ze_device_type_t kind, std::uint32_t flags);

/// A version as a string, such as "1.6" for major << 16 | minor; nullopt for 0. Source: ze_api.h,
/// ZE_MAKE_VERSION.
std::optional<std::string> level_zero_version(std::uint32_t version);

/// A driver version as a string ("1.6.33578"), from a number that contains the parts in 8, 8 and 16
/// bits; nullopt for 0. The specification does not define the format; this function reads the
/// format that Intel's driver uses. Source: unified-runtime, adapters/level_zero/platform.cpp.
std::optional<std::string> level_zero_driver_version(std::uint32_t version);

/// The name of a result code, with its number, such as "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)".
std::string level_zero_code_text(ze::Code code);

/// The answer for a failed call, which is Absent if there is no driver or no device, and otherwise
/// Failed.
Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Code code);

/// The modules in kernels.spvasm, which spirv-as assembles at build time.
std::span<const unsigned char> level_zero_module_check();   ///< only Check
std::span<const unsigned char> level_zero_module_memory();  ///< Fill, Read, Copy
std::span<const unsigned char> level_zero_module_fp32();
std::span<const unsigned char> level_zero_module_fp16();
std::span<const unsigned char> level_zero_module_int8();

}  // namespace gpuprobe::backends
