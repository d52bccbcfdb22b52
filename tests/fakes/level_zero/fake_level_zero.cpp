// SPDX-License-Identifier: Apache-2.0
/// A fake libze_loader.so.1 with a card with two tiles, an integrated GPU and an NPU, or with a
/// known error. It is built once for each behavior: FAKE_INIT is the result of initialization,
/// FAKE_DRIVERS is whether there are drivers, FAKE_FAULT is the fault of its computations, FAKE_OLD
/// omits the functions that loaders before 1.9 lack, FAKE_SMALL limits buffers to 16 MiB,
/// FAKE_CRASH ends the process in a query for NPU drivers. The variable FAULT (../fault.h) causes
/// faults at load, instance, enumerate and query.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../fault.h"

namespace {

using Result = std::uint32_t;
constexpr Result kSuccess = 0;
constexpr Result kInvalidArgument = 0x78000004;
constexpr Result kUnsupported = 0x78000003;
constexpr Result kNoPermission = 0x70010000;

struct Thing {
    int number;
};
Thing gpu_driver{0};
Thing npu_driver{1};
Thing card{0};
Thing integrated{1};
Thing npu{2};
Thing modules[3] = {{0}, {1}, {2}};

/// Returns a list like Level Zero: its length if *count is 0, otherwise as many items as fit.
template <std::size_t size>
Result list(Thing* const (&things)[size], std::uint32_t* count, Thing** out) {
    if (*count == 0 || !out) {
        *count = size;
        return kSuccess;
    }
    for (std::uint32_t i = 0; i < *count && i < size; ++i)
        out[i] = things[i];
    *count = *count < size ? *count : size;
    return kSuccess;
}

}  // namespace

extern "C" {

struct FakeDeviceProperties {
    std::uint32_t type;
    void* next;
    std::uint32_t kind, vendor, device, flags, subdevice, clock;
    std::uint64_t max_allocation;
    std::uint32_t contexts, priority, threads, simd, eus, subslices, slices;
    std::uint64_t resolution;
    std::uint32_t valid, kernel_valid;
    std::uint8_t uuid[16];
    char name[256];
};
struct FakeIpVersion {
    std::uint32_t type;
    const void* next;
    std::uint32_t version;
};
struct FakeDriverProperties {
    std::uint32_t type;
    void* next;
    std::uint8_t uuid[16];
    std::uint32_t version;
};
struct FakeExtension {
    char name[256];
    std::uint32_t version;
};
struct FakeModule {
    std::uint32_t type;
    void* next;
    std::uint32_t spirv, flags;
};
struct FakeMemory {
    std::uint32_t type;
    void* next;
    std::uint32_t flags, clock, width;
    std::uint64_t total;
    char name[256];
};
struct FakePci {
    std::uint32_t type;
    void* next;
    std::uint32_t domain, bus, device, function;
};
struct FakeComponent {
    char name[64];
    std::uint32_t spec;
    int major, minor, patch;
};
struct FakeInitDesc {
    std::uint32_t type;
    const void* next;
    std::uint32_t flags;
};

__attribute__((constructor)) void on_load() {
    fake::at("load");
}

Result zeInit(std::uint32_t flags) {
    fake::at("instance");
    return FAKE_OLD && flags != 1 ? kInvalidArgument : FAKE_INIT;
}
Result zeDriverGet(std::uint32_t* count, Thing** drivers) {
    return list({&gpu_driver}, count, drivers);
}
#if !FAKE_OLD
Result zeInitDrivers(std::uint32_t* count, Thing** drivers, FakeInitDesc* wanted) {
    // This variable must be set before the driver reads it.
    const char* hierarchy = std::getenv("ZE_FLAT_DEVICE_HIERARCHY");
    if (wanted->type != 0x20021 || !hierarchy || std::strcmp(hierarchy, "COMPOSITE") != 0)
        return kInvalidArgument;
    fake::at("instance");
    if (FAKE_INIT != kSuccess)
        return FAKE_INIT;
    if (FAKE_CRASH && wanted->flags == 2)
        fake::crash();
    if (!FAKE_DRIVERS) {
        *count = 0;
        return kSuccess;
    }
    return wanted->flags == 2 ? list({&npu_driver}, count, drivers)
                              : list({&gpu_driver}, count, drivers);
}
#endif
Result zelLoaderGetVersions(std::size_t* count, FakeComponent* versions) {
    if (!versions) {
        *count = 2;
        return kSuccess;
    }
    std::strcpy(versions[0].name, "tracing layer");
    std::strcpy(versions[1].name, "loader");
    versions[1].major = 1;
    versions[1].minor = 21;
    versions[1].patch = 9;
    return kSuccess;
}
Result zeDriverGetApiVersion(Thing*, std::uint32_t* version) {
    *version = 1U << 16U | 6U;
    return kSuccess;
}
Result zeDriverGetProperties(Thing*, FakeDriverProperties* properties) {
    properties->version = 1U << 24U | 6U << 16U | 33578U;
    return kSuccess;
}
Result zeDriverGetExtensionProperties(Thing* driver, std::uint32_t* count, FakeExtension* list) {
    if (driver != &gpu_driver) {
        *count = 0;
        return kSuccess;
    }
    if (*count > 0 && list)
        std::strcpy(list->name, "ZE_extension_device_ip_version");
    *count = 1;
    return kSuccess;
}
Result zeDeviceGet(Thing* driver, std::uint32_t* count, Thing** devices) {
    fake::at("enumerate");
    if (*count == 0 && fake::lies("endless-devices")) {
        *count = 0xffffffff;
        return kSuccess;
    }
    return driver == &npu_driver ? list({&npu}, count, devices)
                                 : list({&card, &integrated}, count, devices);
}
Result zeDeviceGetProperties(Thing* device, FakeDeviceProperties* properties) {
    fake::at("query");
    if (properties->type != 3)
        return kInvalidArgument;
    const auto number = static_cast<unsigned>(device->number);
    properties->kind = device == &npu ? 5 : 1;
    properties->vendor = 0x8086;
    properties->device = 0x56a0 + number;
    properties->flags = device == &card ? 4 : 1;
    properties->clock = 2400;
    properties->max_allocation = std::uint64_t{FAKE_SMALL ? 16 : 4096} << 20U;
    properties->threads = 8;
    properties->simd = 8;
    properties->eus = 16;
    properties->subslices = 4;
    properties->slices = 8;
    properties->uuid[0] = 0x86;
    properties->uuid[1] = 0x80;
    properties->uuid[8] = static_cast<std::uint8_t>(device->number);
    std::strcpy(properties->name, device == &npu ? "Fake AI Boost" : "Fake Arc");
    auto* ip = static_cast<FakeIpVersion*>(properties->next);
    if (ip && ip->type == 0x1000f)
        ip->version = 12U << 22U | 55U << 14U | 8U;
    return device == &npu && ip ? kInvalidArgument : kSuccess;
}
Result zeDeviceGetModuleProperties(Thing* device, FakeModule* properties) {
    properties->spirv = 1U << 16U | 2U;
    properties->flags = 1 | 4 | 8;
    return device == &npu ? kUnsupported : kSuccess;
}
Result zeDeviceGetMemoryProperties(Thing* device, std::uint32_t* count, FakeMemory* memories) {
    const std::uint32_t tiles = device == &card ? 2 : 1;
    for (std::uint32_t i = 0; memories && i < *count && i < tiles; ++i)
        memories[i].total =
            fake::lies("too-much-memory") ? std::uint64_t{1} << 49U : std::uint64_t{8} << 30U;
    *count = tiles;
    return kSuccess;
}
Result zeDevicePciGetPropertiesExt(Thing* device, FakePci* pci) {
    pci->bus = device == &card ? 3 : 0;
    pci->device = device == &card ? 0 : device == &npu ? 0xb : 2;
    return kSuccess;
}

#if !FAKE_OLD
struct FakeSysmanProperties {
    std::uint32_t type;
    void* next;
    FakeDeviceProperties core;
    std::uint32_t subdevices;
    char texts[5][64];
    char driver_version[64];
};
struct FakeModuleProperties {
    std::uint32_t type;
    void* next;
    std::uint32_t technology;
    std::uint8_t on_subdevice;
    std::uint32_t subdevice, location;
    std::uint64_t physical;
};
struct FakeModuleState {
    std::uint32_t type;
    const void* next;
    std::uint32_t health;
    std::uint64_t free, size;
};

Result zesInit(std::uint32_t flags) {
    fake::at("instance");
    return flags == 0 && !std::getenv("ZES_ENABLE_SYSMAN") ? FAKE_INIT : kInvalidArgument;
}
Result zesDriverGet(std::uint32_t* count, Thing** drivers) {
    if (!FAKE_DRIVERS) {
        *count = 0;
        return kSuccess;
    }
    return list({&gpu_driver}, count, drivers);
}
Result zesDeviceGet(Thing*, std::uint32_t* count, Thing** devices) {
    fake::at("enumerate");
    return list({&card, &integrated}, count, devices);
}
Result zesDeviceGetProperties(Thing* device, FakeSysmanProperties* properties) {
    if (FAKE_CRASH && device == &integrated)
        fake::crash();
    properties->core.type = 3;
    properties->core.next = nullptr;
    properties->subdevices = device == &card ? 2 : 0;
    // The string has no terminating NUL.
    std::memset(properties->driver_version, 'x', sizeof properties->driver_version);
    return zeDeviceGetProperties(device, &properties->core);
}
Result zesDevicePciGetProperties(Thing* device, FakePci* pci) {
    return zeDevicePciGetPropertiesExt(device, pci);
}
Result zesDeviceEnumMemoryModules(Thing* device, std::uint32_t* count, Thing** out) {
    return device == &card ? list({&modules[0], &modules[1]}, count, out)
                           : list({&modules[2]}, count, out);
}
Result zesMemoryGetProperties(Thing*, FakeModuleProperties* properties) {
    properties->location = 1;
    properties->physical = std::uint64_t{9} << 30U;
    return properties->type == 0xb ? kSuccess : kInvalidArgument;
}
Result zesMemoryGetState(Thing* module, FakeModuleState* state) {
    if (state->type != 0x1e)
        return kInvalidArgument;
    state->health = module == &modules[1] ? 2 : 1;
    state->size = std::uint64_t{8} << 30U;
    state->free = module == &modules[0] ? std::uint64_t{5} << 30U : state->size;
    return FAKE_REFUSE_STATE ? kNoPermission : kSuccess;
}
#endif

}  // extern "C"

#include "fake_level_zero_compute.h"
