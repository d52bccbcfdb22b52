// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <new>

#include "../compute.h"

/// The part of the driver that computes. FAKE_FAULT is one of fake::Fault. Uses host memory.
namespace {

constexpr auto kFault = fake::Fault::FAKE_FAULT;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidPtx = 218;
constexpr int kNoCompiler = 221;
constexpr int kNotReady = 600;
constexpr int kLaunchFailed = 719;

int launches = 0;
int held = 0;  ///< allocations that have not been freed
int contexts = 0;
int of_device[64] = {};  ///< the addresses of these elements serve as contexts
void* current = nullptr;
bool is_lost() {
    return kFault == fake::Fault::LostHalfway && launches > 0;
}
int take(void** out, std::size_t size) {
    *out = std::malloc(size);
    ++held;
    return kFault == fake::Fault::NoMemory ? kOutOfMemory : kSuccess;
}
int give(void* memory) {
    std::free(memory);
    --held;
    return kSuccess;
}

}  // namespace

extern "C" {

int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &of_device[device % 64];
    ++contexts;
    ::setenv(fake::kContextVariable, "1", 1);
    return fake::returned("cuDevicePrimaryCtxRetain", kSuccess);
}
int cuDevicePrimaryCtxRelease_v2(int) {
    // End the process if memory was leaked.
    if (--contexts == 0 && held != 0)
        std::abort();
    if (contexts == 0)
        ::unsetenv(fake::kContextVariable);
    return kSuccess;
}
int cuCtxSetCurrent(void* context) {
    current = context;
    return kSuccess;
}
int cuCtxGetCurrent(void** context) {
    *context = current;
    return kSuccess;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    *free = std::size_t{64} << 20;
    *total = std::size_t{24} << 30;
    return kSuccess;
}
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t size) {
    if (kFault == fake::Fault::NoMemory)
        return kOutOfMemory;
    void* memory = nullptr;
    const int result = take(&memory, size);
    *pointer = reinterpret_cast<std::uint64_t>(memory);
    return result;
}
int cuMemFree_v2(std::uint64_t pointer) {
    return give(reinterpret_cast<void*>(pointer));
}
int cuMemHostAlloc(void** pointer, std::size_t size, unsigned) {
    return take(pointer, size);
}
int cuMemFreeHost(void* pointer) {
    return give(pointer);
}
int cuModuleLoadData(void** module, const void* image) {
    if (kFault == fake::Fault::NoCompiler)
        return kNoCompiler;
    // The text must be complete PTX, which ends with a NUL after the last function.
    const std::string_view text{static_cast<const char*>(image)};
    if (kFault == fake::Fault::BuildFails || text.find(".version 6.0") == text.npos ||
        text.rfind("ret;") == text.npos)
        return kInvalidPtx;
    if (const auto refusal = fake::returned("cuModuleLoadData", kSuccess))
        return refusal;
    *module = const_cast<void*>(image);
    ++held;
    return kSuccess;
}
int cuModuleUnload(void*) {
    --held;
    return kSuccess;
}
int cuModuleGetFunction(const char** function, void* module, const char* name) {
    static const char* const kNames[] = {"check", "fill", "read", "copy", "fp32", "fp16", "int8"};
    const std::string_view text{static_cast<const char*>(module)};
    for (const char* known : kNames)
        if (std::strcmp(known, name) == 0 && text.find(name) != text.npos) {
            *function = known;
            return kSuccess;
        }
    return 500;  // CUDA_ERROR_NOT_FOUND
}
int cuLaunchKernel(const char* function,
                   unsigned groups,
                   unsigned,
                   unsigned,
                   unsigned threads,
                   unsigned,
                   unsigned,
                   unsigned,
                   void*,
                   void** parameters,
                   void**) {
    if (kFault == fake::Fault::Crash)
        fake::crash();
    ++launches;
    if (threads != 128)
        return kInvalidValue;
    if (const auto refusal = fake::returned("cuLaunchKernel", kSuccess))
        return refusal;
    fake::compute({.kernel = function,
                   .from = *static_cast<const std::uint32_t**>(parameters[0]),
                   .to = *static_cast<std::uint32_t**>(parameters[1]),
                   .groups = groups,
                   .rounds = *static_cast<std::uint32_t*>(parameters[2]),
                   .factor = *static_cast<std::int32_t*>(parameters[3]),
                   .addend = *static_cast<std::int32_t*>(parameters[4])},
                  kFault);
    return kSuccess;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t size, void*) {
    std::memcpy(reinterpret_cast<void*>(to), from, size);
    return kSuccess;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t size, void*) {
    if (is_lost())
        return kLaunchFailed;
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return kSuccess;
}
int cuEventCreate(void** event, unsigned) {
    *event = &launches;
    ++held;
    return kSuccess;
}
int cuEventDestroy_v2(void*) {
    --held;
    return kSuccess;
}
int cuEventRecord(void*, void*) {
    return kSuccess;
}
int cuEventQuery(void*) {
    if (is_lost())
        return kLaunchFailed;
    return kFault == fake::Fault::NeverEnds && launches > 0 ? kNotReady : kSuccess;
}

}  // extern "C"
