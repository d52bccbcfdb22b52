// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include "backends/driver_library.h"

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
    // The following functions exist only in newer loaders; zeInitDrivers exists since 1.10.
    OptionalSymbol<ze_result_t(std::uint32_t*, ze_driver_handle_t*, InitDriverTypeDesc*)>
        init_drivers{*this, "zeInitDrivers"};
    OptionalSymbol<decltype(zeDevicePciGetPropertiesExt)> pci_properties{
        *this, "zeDevicePciGetPropertiesExt"};
    OptionalSymbol<decltype(zelLoaderGetVersions)> loader_versions{*this, "zelLoaderGetVersions"};
};

/// The functions that run kernels on a device. All of them exist since version 1.0.
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
