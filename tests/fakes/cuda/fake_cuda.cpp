// SPDX-License-Identifier: Apache-2.0
/// A fake libcuda.so.1. It behaves like a healthy driver, or fails with a known error.
/// It is built once for each behavior: FAKE_INIT is the result of cuInit, FAKE_CRASH ends the
/// process in a query, FAKE_FAULT is the fault of its computations. With FAKE_DIVIDED, the first of
/// two GPUs is in MIG mode, and the driver lists one device: the instance or the second GPU that
/// CUDA_VISIBLE_DEVICES names, by default the first instance. The variable FAULT (../fault.h) also
/// causes faults, at load, instance, enumerate and query.
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <unistd.h>

#include "../fault.h"

namespace {
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
#if defined(FAKE_DIVIDED)
constexpr bool kIsDivided = true;
#else
constexpr bool kIsDivided = false;
#endif

constexpr int kWholeGpu = 0x40;  ///< the second GPU

/// The first byte of the listed device's UUID (fake_nvml.cpp has the instances); 0 if none.
int shown() {
    const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string_view name = wanted ? wanted : "MIG-10010203-0405-0607-0809-0a0b0c0d0e00";
    return name == "MIG-10010203-0405-0607-0809-0a0b0c0d0e00"   ? 0x10
           : name == "MIG-20010203-0405-0607-0809-0a0b0c0d0e00" ? 0x20
           : name == "GPU-40010203-0405-0607-0809-0a0b0c0d0e00" ? kWholeGpu
                                                                : 0;
}

bool shows_an_instance() {
    return kIsDivided && shown() != kWholeGpu;
}

/// The real driver sets thread names through this file in cuInit, and fails without it (580.159).
bool can_name_threads() {
    const auto file = "/proc/self/task/" + std::to_string(::gettid()) + "/comm";
    std::FILE* const name = std::fopen(file.c_str(), "w");
    return name && std::fclose(name) == 0;
}
}  // namespace

#include "fake_cuda_compute.h"

extern "C" {

struct FakeUuid {
    unsigned char bytes[16];
};

__attribute__((constructor)) void on_load() {
    fake::at("load");
}

#if defined(FAKE_VERSIONED)
int fake_versioned();  // in fake_version_wanted from ../nvidia.cmake
#endif
#if defined(FAKE_RESOLVER)
using Init = int (*)(unsigned);
/// Runs while the linker relocates this library, so functions of other libraries cannot be called.
Init resolve_init() {
    __builtin_trap();
}
int cuInit(unsigned) __attribute__((ifunc("resolve_init")));
#else
int cuInit(unsigned) {
    fake::at("instance");
    if (!can_name_threads())
        return 304;  // CUDA_ERROR_OPERATING_SYSTEM
#if defined(FAKE_VERSIONED)
    return fake_versioned();
#else
    return fake::returned("cuInit", FAKE_INIT);
#endif
}
#endif
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return kSuccess;
}
int cuGetErrorName(int code, const char** name) {
    *name = code == 100   ? "CUDA_ERROR_NO_DEVICE"
            : code == 999 ? "CUDA_ERROR_UNKNOWN"
            : code == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
                          : nullptr;
    return *name ? kSuccess : kInvalidValue;
}
int cuDeviceGetCount(int* count) {
    fake::at("enumerate");
    *count = fake::lies("negative-devices")  ? -1
             : fake::lies("endless-devices") ? 0x7fffffff
             : !kIsDivided                   ? 2
             : shown() != 0                  ? 1
                                             : 0;
    return kSuccess;
}
int cuDeviceGet(int* device, int index) {
    *device = index;
    return kSuccess;
}
int cuDeviceGetName(char* name, int size, int device) {
    fake::at("query");
    if (FAKE_CRASH && device == 1)
        std::raise(SIGSEGV);
    std::strncpy(name, shows_an_instance() ? "Fake CUDA GPU MIG 1g.12gb" : "Fake CUDA GPU",
                 static_cast<std::size_t>(size));
    return kSuccess;
}
int cuDeviceGetUuid_v2(FakeUuid* uuid, int device) {
    for (unsigned char i = 0; i < 16; ++i)
        uuid->bytes[i] = i;
    uuid->bytes[15] = static_cast<unsigned char>(device);
    if (kIsDivided) {
        uuid->bytes[0] = static_cast<unsigned char>(shown());
        uuid->bytes[15] = 0;
    }
    return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    constexpr auto kSize = std::size_t{24} << 30U;
    *bytes = fake::lies("too-much-memory") ? std::size_t{1} << 49U
             : fake::lies("fickle")        ? kSize - fake::another_each_time() * 4096
                                           : kSize;
    return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
        case 75:
            *value = 8;
            return kSuccess;
        case 76:
            *value = 9;
            return kSuccess;
        case 16:
            *value = 128;
            return kSuccess;
        case 18:
            *value = 0;
            return kSuccess;
        case 13:
            *value = 2520000;
            return kSuccess;
        default:
            return kInvalidValue;
    }
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
    const bool is_second = device == 1 || (kIsDivided && !shows_an_instance());
    std::strncpy(text, is_second ? "0000:C2:00.0" : "0000:C1:00.0", static_cast<std::size_t>(size));
    return kSuccess;
}

}  // extern "C"
