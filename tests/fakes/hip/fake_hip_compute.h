// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <new>

#include "../compute.h"

/// The part of the driver that computes. FAKE_FAULT is one of fake::Fault. FAKE_HAS_COMPILER is
/// true if the library contains hiprtc. Uses host memory.
namespace {

constexpr auto kFault = fake::Fault::FAKE_FAULT;
constexpr int kOutOfMemory = 2;
constexpr int kCompilation = 6;  ///< HIPRTC_ERROR_COMPILATION
constexpr int kNotReady = 600;
constexpr int kLaunchFailed = 719;

int launches = 0;
int held = 0;  ///< allocations that have not been freed
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

int hipSetDevice(int) {
    return kSuccess;
}
int hipMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = std::size_t{64} << 20;
    *total = std::size_t{24} << 30;
    return kSuccess;
}
int hipMalloc(void** pointer, std::size_t size) {
    return kFault == fake::Fault::NoMemory ? kOutOfMemory : take(pointer, size);
}
int hipFree(void* pointer) {
    return give(pointer);
}
int hipHostMalloc(void** pointer, std::size_t size, unsigned) {
    return take(pointer, size);
}
int hipHostFree(void* pointer) {
    return give(pointer);
}
int hipModuleLoadData(void** module, const void* image) {
    *module = const_cast<void*>(image);
    ++held;
    return kSuccess;
}
int hipModuleUnload(void*) {
    --held;
    return kSuccess;
}
int hipModuleGetFunction(const char** function, void* module, const char* name) {
    static const char* const kNames[] = {"check", "fill", "read", "copy", "fp32", "fp16", "int8"};
    // The compiled module is the source text.
    const std::string_view text{static_cast<const char*>(module)};
    for (const char* known : kNames)
        if (std::strcmp(known, name) == 0 && text.find(name) != text.npos) {
            *function = known;
            return kSuccess;
        }
    return 500;  // CUDA_ERROR_NOT_FOUND
}
int hipModuleLaunchKernel(const char* function,
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
int hipMemcpyHtoDAsync(void* to, const void* from, std::size_t size, void*) {
    std::memcpy(to, from, size);
    return kSuccess;
}
int hipMemcpyDtoHAsync(void* to, void* from, std::size_t size, void*) {
    if (is_lost())
        return kLaunchFailed;
    std::memcpy(to, from, size);
    return kSuccess;
}
int hipEventCreateWithFlags(void** event, unsigned) {
    *event = &launches;
    ++held;
    return kSuccess;
}
int hipEventDestroy(void*) {
    // This is the last object to be released. End the process if any other object was leaked.
    if (--held != 0)
        std::abort();
    return kSuccess;
}
int hipEventRecord(void*, void*) {
    return kSuccess;
}
int hipEventQuery(void*) {
    if (is_lost())
        return kLaunchFailed;
    return kFault == fake::Fault::NeverEnds && launches > 0 ? kNotReady : kSuccess;
}

#if FAKE_HAS_COMPILER
int hiprtcCreateProgram(
    const char** program, const char* source, const char*, int, const char**, const char**) {
    *program = source;
    return kSuccess;
}
int hiprtcCompileProgram(const char*, int options, const char** texts) {
    const bool is_named = options > 0 && std::strncmp(texts[0], "-DWITH_", 7) == 0;
    return kFault == fake::Fault::BuildFails || !is_named ? kCompilation : kSuccess;
}
int hiprtcGetCodeSize(const char* program, std::size_t* size) {
    *size = std::strlen(program) + 1;
    return kSuccess;
}
int hiprtcGetCode(const char* program, char* code) {
    std::strcpy(code, program);
    return kSuccess;
}
int hiprtcGetProgramLogSize(const char*, std::size_t* size) {
    *size = 8;
    return kSuccess;
}
int hiprtcGetProgramLog(const char*, char* log) {
    std::strcpy(log, "no\nmore");
    return kSuccess;
}
int hiprtcDestroyProgram(const char**) {
    return kSuccess;
}
#endif

}  // extern "C"
