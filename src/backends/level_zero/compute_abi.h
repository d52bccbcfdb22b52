// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/compute/device.h"
#include "backends/level_zero/level_zero_abi.h"

/// The part of Level Zero's core API that works a device. Source of every layout and number: oneAPI
/// Level Zero specification 1.11, "Core API", and level-zero's include/ze_api.h.
namespace gpuprobe::backends::ze {

using Context = struct ContextHandle*;
using CommandQueue = struct CommandQueueHandle*;
using CommandList = struct CommandListHandle*;
using Module = struct ModuleHandle*;
using Kernel = struct KernelHandle*;

constexpr Result kNotReady = 1;

/// ze_structure_type_t, of the descriptions below.
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

/// Loaded whole or not at all: all are there since 1.0.
struct ComputeSymbols {
    Result (*queue_groups)(Device, std::uint32_t*, QueueGroupProperties*) = nullptr;
    Result (*create_context)(Driver, const ContextDesc*, Context*) = nullptr;
    Result (*destroy_context)(Context) = nullptr;
    Result (*create_queue)(Context, Device, const CommandQueueDesc*, CommandQueue*) = nullptr;
    Result (*destroy_queue)(CommandQueue) = nullptr;
    Result (*execute)(CommandQueue, std::uint32_t, CommandList*, void* fence) = nullptr;
    Result (*synchronize)(CommandQueue, std::uint64_t nanoseconds) = nullptr;
    Result (*create_list)(Context, Device, const CommandListDesc*, CommandList*) = nullptr;
    Result (*destroy_list)(CommandList) = nullptr;
    Result (*close_list)(CommandList) = nullptr;
    Result (*reset_list)(CommandList) = nullptr;
    Result (*append_copy)(
        CommandList, void*, const void*, std::size_t, void*, std::uint32_t, void**) = nullptr;
    Result (*append_launch)(CommandList, Kernel, const GroupCount*, void*, std::uint32_t, void**) =
        nullptr;
    Result (*append_barrier)(CommandList, void*, std::uint32_t, void**) = nullptr;
    Result (*allocate_device)(Context,
                              const DeviceMemoryDesc*,
                              std::size_t,
                              std::size_t alignment,
                              Device,
                              void**) = nullptr;
    Result (*allocate_host)(
        Context, const HostMemoryDesc*, std::size_t, std::size_t alignment, void**) = nullptr;
    Result (*free)(Context, void*) = nullptr;
    Result (*create_module)(Context, Device, const ModuleDesc*, Module*, void** log) = nullptr;
    Result (*destroy_module)(Module) = nullptr;
    Result (*create_kernel)(Module, const KernelDesc*, Kernel*) = nullptr;
    Result (*destroy_kernel)(Kernel) = nullptr;
    Result (*set_group_size)(Kernel, std::uint32_t, std::uint32_t, std::uint32_t) = nullptr;
    Result (*set_argument)(Kernel, std::uint32_t, std::size_t, const void*) = nullptr;
};

/// Errors: NotFound, naming the function.
::gpuprobe::Result<ComputeSymbols> load_compute(const DynamicLibrary& library);

/// What a refusal of a call that works a device means. Source: "ze_result_t".
Refusal level_zero_compute_refusal(std::string_view call, Result code);

}  // namespace gpuprobe::backends::ze
