// SPDX-License-Identifier: Apache-2.0
// An OpenCL driver without a GPU: one platform and one device, with invented properties.
// FAKE_BEHAVIOUR selects what is wrong with the driver, FAKE_FAULT selects the fault of its
// computations, and the variable FAULT (../fault.h) causes faults at load, instance, enumerate and
// query. Source: cl_khr_icd.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include "../fault.h"

namespace {

enum class Behaviour {
    Gpu,               ///< one healthy discrete GPU of 24 GiB
    NoDevice,          ///< a platform without a device
    CrashInEnumerate,  ///< SIGSEGV in clGetDeviceIDs
    HangInPlatforms,   ///< never returns from clIcdGetPlatformIDsKHR
    Liar,              ///< impossible counts, sizes, strings and addresses
};
constexpr auto kBehaviour = Behaviour::FAKE_BEHAVIOUR;
constexpr bool kLies = kBehaviour == Behaviour::Liar;

cl_int platform_ids(cl_uint capacity, cl_platform_id* out, cl_uint* count);
cl_int platform_info(
    cl_platform_id platform, cl_uint what, std::size_t capacity, void* out, std::size_t* size);
cl_int device_ids(
    cl_platform_id platform, cl_device_type type, cl_uint capacity, cl_device_id* out, cl_uint* n);
cl_int device_info(
    cl_device_id device, cl_uint what, std::size_t capacity, void* out, std::size_t* size);

void add_compute(cl_icd_dispatch& table);

__attribute__((constructor)) void on_load() {
    fake::at("load");
}

cl_icd_dispatch the_dispatch = [] {
    cl_icd_dispatch table{};
    add_compute(table);
    table.clGetPlatformIDs = platform_ids;
    table.clGetPlatformInfo = platform_info;
    table.clGetDeviceIDs = device_ids;
    table.clGetDeviceInfo = device_info;
    return table;
}();

/// The loader finds the driver's functions through the pointer at the start of each object.
struct Object {
    cl_icd_dispatch* dispatch = &the_dispatch;
};
Object the_platform;
Object the_device;

cl_int hand_out(
    const void* data, std::size_t length, std::size_t capacity, void* out, std::size_t* size) {
    if (size)
        *size = kLies && !out ? SIZE_MAX : length;
    if (!out)
        return CL_SUCCESS;
    if (capacity < length)
        return CL_INVALID_VALUE;
    std::memcpy(out, data, length);
    return CL_SUCCESS;
}

template <class T>
cl_int hand_out_value(const T& value, std::size_t capacity, void* out, std::size_t* size) {
    return hand_out(&value, sizeof value, capacity, out, size);
}

cl_int hand_out_text(const char* text, std::size_t capacity, void* out, std::size_t* size) {
    return hand_out(text, std::strlen(text) + 1, capacity, out, size);
}

cl_int platform_ids(cl_uint, cl_platform_id* out, cl_uint* count) {
    fake::at("instance");
    if (kBehaviour == Behaviour::HangInPlatforms)
        fake::hang();
    if (out)
        *out = reinterpret_cast<cl_platform_id>(&the_platform);
    if (count)
        *count = fake::lies("endless-platforms") ? 0xffffffff : 1;
    return CL_SUCCESS;
}

cl_int platform_info(
    cl_platform_id, cl_uint what, std::size_t capacity, void* out, std::size_t* size) {
    const auto answer = [&](const char* text) {
        const auto length = !out && fake::lies("endless-text") ? SIZE_MAX : std::strlen(text) + 1;
        if (size)
            *size = length;
        if (out && capacity >= length)
            std::memcpy(out, text, length);
        return CL_SUCCESS;
    };
    switch (what) {
        case CL_PLATFORM_NAME:
            return answer("Fake OpenCL");
        case CL_PLATFORM_VENDOR:
            return answer("Nobody");
        case CL_PLATFORM_VERSION:
            return answer("OpenCL 3.0 FAKE 1.0");
        case CL_PLATFORM_PROFILE:
            return answer("FULL_PROFILE");
        case CL_PLATFORM_EXTENSIONS:
            return answer("cl_khr_icd");
        case CL_PLATFORM_ICD_SUFFIX_KHR:
            return answer("FAKE");
        default:
            return CL_INVALID_VALUE;
    }
}

cl_int device_ids(
    cl_platform_id, cl_device_type, cl_uint capacity, cl_device_id* out, cl_uint* count) {
    fake::at("enumerate");
    if (kBehaviour == Behaviour::CrashInEnumerate)
        fake::crash();
    if (kBehaviour == Behaviour::NoDevice)
        return CL_DEVICE_NOT_FOUND;
    // The liar fills the whole list with the same device, and reports a larger count.
    if (out)
        std::fill_n(out, kLies ? capacity : 1, reinterpret_cast<cl_device_id>(&the_device));
    if (count)
        *count = kLies || fake::lies("endless-devices") ? 0xffffffff : 1;
    return CL_SUCCESS;
}

cl_int vendor_info(cl_uint what, std::size_t capacity, void* out, std::size_t* size) {
    std::array<cl_uchar, CL_UUID_SIZE_KHR> uuid{};
    for (std::size_t i = 0; i < uuid.size() && !kLies; ++i)
        uuid[i] = static_cast<cl_uchar>(0xa0 + i);
    switch (what) {
        case CL_DEVICE_PCI_BUS_INFO_KHR:
            return hand_out_value(cl_device_pci_bus_info_khr{0, kLies ? 0U : 1U, 0, 0}, capacity,
                                  out, size);
        case CL_DEVICE_UUID_KHR:
            return hand_out_value(uuid, capacity, out, size);
        case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
            return hand_out_value(cl_uint{8}, capacity, out, size);
        case CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV:
            return hand_out_value(cl_uint{9}, capacity, out, size);
        case CL_DEVICE_INTEGRATED_MEMORY_NV:
            return hand_out_value(cl_bool{CL_FALSE}, capacity, out, size);
        default:
            return CL_INVALID_VALUE;
    }
}

cl_int name_without_end(std::size_t capacity, void* out, std::size_t* size) {
    constexpr std::size_t kLength = 300;
    if (size)
        *size = kLength;
    if (out)
        std::memset(out, 'x', std::min(capacity, kLength));
    return CL_SUCCESS;
}

cl_int device_info(cl_device_id, cl_uint what, std::size_t capacity, void* out, std::size_t* size) {
    fake::at("query");
    if (what == CL_DEVICE_NAME && fake::lies("name-without-end"))
        return name_without_end(capacity, out, size);
    switch (what) {
        case CL_DEVICE_NAME:
            return hand_out_text(kLies ? "\xff\xfe\x1b[31m" : "Fake GPU 24G", capacity, out, size);
        case CL_DEVICE_VENDOR:
            return hand_out_text("Nobody", capacity, out, size);
        case CL_DEVICE_VERSION:
            return hand_out_text("OpenCL 3.0 FAKE", capacity, out, size);
        case CL_DRIVER_VERSION:
            return hand_out_text("580.159.04", capacity, out, size);
        case CL_DEVICE_EXTENSIONS:
            return hand_out_text(
                "cl_khr_fp64 cl_khr_pci_bus_info cl_khr_device_uuid "
                "cl_nv_device_attribute_query",
                capacity, out, size);
        case CL_DEVICE_TYPE:
            return hand_out_value(cl_device_type{CL_DEVICE_TYPE_GPU}, capacity, out, size);
        case CL_DEVICE_VENDOR_ID:
            return hand_out_value(cl_uint{kLies ? 0xffffffff : 0x10de}, capacity, out, size);
        case CL_DEVICE_GLOBAL_MEM_SIZE:
            return hand_out_value(kLies                           ? cl_ulong{1} << 63
                                  : fake::lies("too-much-memory") ? cl_ulong{1} << 49U
                                                                  : cl_ulong{24} << 30,
                                  capacity, out, size);
        case CL_DEVICE_MAX_COMPUTE_UNITS:
            return hand_out_value(cl_uint{128}, capacity, out, size);
        case CL_DEVICE_AVAILABLE:
            return hand_out_value(cl_bool{CL_TRUE}, capacity, out, size);
        default:
            return vendor_info(what, capacity, out, size);
    }
}

}  // namespace

#include "fake_opencl_compute.h"

extern "C" {

__attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint capacity,
                                                                     cl_platform_id* out,
                                                                     cl_uint* count) {
    return platform_ids(capacity, out, count);
}

__attribute__((visibility("default"))) cl_int clGetPlatformInfo(cl_platform_id platform,
                                                                cl_platform_info what,
                                                                std::size_t capacity,
                                                                void* out,
                                                                std::size_t* size) {
    return platform_info(platform, what, capacity, out, size);
}

__attribute__((visibility("default"))) void* clGetExtensionFunctionAddress(const char* name) {
    if (fake::lies("no-entry"))
        return nullptr;
    if (std::string_view{name} == "clIcdGetPlatformIDsKHR")
        return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
    if (std::string_view{name} == "clGetPlatformInfo")
        return reinterpret_cast<void*>(clGetPlatformInfo);
    return nullptr;
}
}
