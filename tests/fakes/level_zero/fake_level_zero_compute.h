// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "../compute.h"

/// The part of the driver that computes. FAKE_FAULT is one of fake::Fault. Uses host memory. Runs
/// the commands of a list when the list is executed. Crashes if an object is released after its
/// context, or not at all.
namespace {

constexpr auto kFault = fake::Fault::FAKE_FAULT;
constexpr Result kTimedOut = 1;
constexpr Result kDeviceLost = 0x70000001;
constexpr Result kNoMemory = 0x70000003;
constexpr Result kBuildFailed = 0x70000004;
constexpr Result kNoDependency = 0x70020000;

int held = 0;
int launches = 0;
Thing context{7};
Thing queue{8};
Thing list_handle{9};
Thing module{10};
bool is_closed = false;

/// The arguments that a caller has set for a kernel.
struct Made {
    const char* name;
    void* buffers[2] = {};
    std::uint32_t numbers[3] = {};
};
Made kernels[] = {{"check"}, {"fill"}, {"read"}, {"copy"}, {"fp32"}, {"fp16"}, {"int8"}};

struct Command {
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t size = 0;  ///< the size of a copy
    std::uint32_t groups = 0;
    Made kernel = {};  ///< the kernel with its arguments at the time of appending
};
std::vector<Command> commands;

Result hand_out(Thing& thing, Thing** out) {
    *out = &thing;
    ++held;
    return kSuccess;
}
Result take_back() {
    --held;
    return kSuccess;
}
Result perform(const Command& command) {
    if (command.groups == 0) {
        if (kFault == fake::Fault::LostHalfway && launches > 0)
            return kDeviceLost;
        std::memcpy(command.to, command.from, command.size);
        return kSuccess;
    }
    if (kFault == fake::Fault::Crash)
        fake::crash();
    ++launches;
    const auto& [name, buffers, numbers] = command.kernel;
    fake::compute({.kernel = name,
                   .from = static_cast<const std::uint32_t*>(buffers[0]),
                   .to = static_cast<std::uint32_t*>(buffers[1]),
                   .groups = command.groups,
                   .rounds = numbers[0],
                   .factor = static_cast<std::int32_t>(numbers[1]),
                   .addend = static_cast<std::int32_t>(numbers[2])},
                  kFault);
    return kSuccess;
}

}  // namespace

extern "C" {

struct FakeQueueGroup {
    std::uint32_t type;
    void* next;
    std::uint32_t flags;
    std::size_t pattern;
    std::uint32_t queues;
};
struct FakeModuleDesc {
    std::uint32_t type;
    const void* next;
    std::uint32_t format;
    std::size_t size;
    const unsigned char* bytes;
};
struct FakeKernelDesc {
    std::uint32_t type;
    const void* next;
    std::uint32_t flags;
    const char* name;
};
struct FakeGroups {
    std::uint32_t x, y, z;
};

/// The first group can only copy, like the group of a blitter.
Result zeDeviceGetCommandQueueGroupProperties(Thing*,
                                              std::uint32_t* count,
                                              FakeQueueGroup* groups) {
    if (*count < 2 || groups[0].type != 6)
        return kInvalidArgument;
    groups[0].flags = 2;
    groups[0].queues = 1;
    groups[1].flags = 1;
    groups[1].queues = 4;
    *count = 2;
    return kSuccess;
}
Result zeContextCreate(Thing*, const void*, Thing** out) {
    return hand_out(context, out);
}
Result zeContextDestroy(Thing*) {
    if (held != 1)
        std::abort();
    return take_back();
}
Result zeCommandQueueCreate(Thing*, Thing*, const std::uint32_t* description, Thing** out) {
    // The ordinal follows the type and the chain.
    return description[4] == 1 ? hand_out(queue, out) : kInvalidArgument;
}
Result zeCommandQueueDestroy(Thing*) {
    return take_back();
}
Result zeCommandQueueExecuteCommandLists(Thing*, std::uint32_t, Thing**, void*) {
    if (!is_closed)
        return kInvalidArgument;
    for (const auto& command : commands)
        if (const auto result = perform(command); result != kSuccess)
            return result;
    return kSuccess;
}
Result zeCommandQueueSynchronize(Thing*, std::uint64_t nanoseconds) {
    const bool is_stuck = kFault == fake::Fault::NeverEnds && launches > 0;
    return is_stuck && nanoseconds < 10'000'000'000 ? kTimedOut : kSuccess;
}
Result zeCommandListCreate(Thing*, Thing*, const void*, Thing** out) {
    return hand_out(list_handle, out);
}
Result zeCommandListDestroy(Thing*) {
    return take_back();
}
Result zeCommandListClose(Thing*) {
    is_closed = true;
    return kSuccess;
}
Result zeCommandListReset(Thing*) {
    is_closed = false;
    commands.clear();
    return kSuccess;
}
Result zeCommandListAppendMemoryCopy(
    Thing*, void* to, const void* from, std::size_t size, void*, std::uint32_t, void**) {
    commands.push_back({.to = to, .from = from, .size = size});
    return kSuccess;
}
Result zeCommandListAppendLaunchKernel(
    Thing*, const Made* kernel, const FakeGroups* groups, void*, std::uint32_t, void**) {
    commands.push_back({.groups = groups->x, .kernel = *kernel});
    return kSuccess;
}
Result zeCommandListAppendBarrier(Thing*, void*, std::uint32_t, void**) {
    return kSuccess;
}
Result zeMemAllocDevice(Thing*, const void*, std::size_t size, std::size_t, Thing*, void** out) {
    if (kFault == fake::Fault::NoMemory)
        return kNoMemory;
    *out = std::malloc(size);
    ++held;
    return kSuccess;
}
Result zeMemAllocHost(Thing*, const void*, std::size_t size, std::size_t, void** out) {
    *out = std::malloc(size);
    ++held;
    return kSuccess;
}
Result zeMemFree(Thing*, void* memory) {
    std::free(memory);
    return take_back();
}
Result zeModuleCreate(Thing*, Thing*, const FakeModuleDesc* description, Thing** out, void**) {
    // The module must have SPIR-V's magic number and consist of whole words.
    std::uint32_t magic = 0;
    std::memcpy(&magic, description->bytes, sizeof magic);
    if (kFault == fake::Fault::NoCompiler)
        return kNoDependency;
    if (kFault == fake::Fault::BuildFails || magic != 0x07230203 || description->size % 4 != 0)
        return kBuildFailed;
    return hand_out(module, out);
}
Result zeModuleDestroy(Thing*) {
    return take_back();
}
Result zeKernelCreate(Thing*, const FakeKernelDesc* description, Made** out) {
    for (auto& kernel : kernels)
        if (std::strcmp(description->name, kernel.name) == 0) {
            *out = &kernel;
            ++held;
            return kSuccess;
        }
    return kInvalidArgument;
}
Result zeKernelDestroy(Made*) {
    return take_back();
}
Result zeKernelSetGroupSize(Made*, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return x == 128 && y == 1 && z == 1 ? kSuccess : kInvalidArgument;
}
Result zeKernelSetArgumentValue(Made* kernel,
                                std::uint32_t index,
                                std::size_t size,
                                const void* value) {
    const bool is_buffer = index < 2;
    if (index > 4 || size != (is_buffer ? sizeof(void*) : sizeof(std::uint32_t)))
        return kInvalidArgument;
    if (is_buffer)
        std::memcpy(&kernel->buffers[index], value, size);
    else
        std::memcpy(&kernel->numbers[index - 2], value, size);
    return kSuccess;
}

}  // extern "C"
