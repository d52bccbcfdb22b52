// SPDX-License-Identifier: Apache-2.0
/// A fake libnvidia-ml.so.1 with two GPUs, of which the second is lost, or with an error from
/// nvmlInit. The variable FAULT (../fault.h) causes faults at load, instance, enumerate, query,
/// memory and utilization. "utilization=NUMBER" is the load of the first GPU. With
/// "another-leaves", the context of another process is just ending. If FAKE_FAULT is NoMemory,
/// other processes use all memory of the first GPU.
#include <cstdio>
#include <cstring>

#include <strings.h>

#include "../fault.h"

namespace {
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kGpuIsLost = 15;
#define FAKE_WORD_OF(word) #word
#define FAKE_WORD(word) FAKE_WORD_OF(word)
constexpr const char* kFault = FAKE_WORD(FAKE_FAULT);

int put(const char* text, char* buffer, unsigned size) {
    std::strncpy(buffer, text, size);
    return kSuccess;
}
int first_device = 0;
/// The MIG instances of the first GPU if it is in MIG mode; in slots 0 and 2.
int instances[2] = {};

bool is_instance(const int* device) {
    return device == &instances[0] || device == &instances[1];
}
/// Memory of another process that has just ended: less at each reading, until none is left.
unsigned long long of_another() {
    static unsigned long long left = 3;
    return left == 0 ? 0 : left-- * fake::kContextBytes;
}
}  // namespace

extern "C" {

struct FakeMemory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct FakeMemoryV1 {
    unsigned long long total, free, used;
};
struct FakePci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

__attribute__((constructor)) void on_load() {
    fake::at("load");
}

int nvmlInit_v2() {
    fake::at("instance");
    return fake::returned("nvmlInit_v2", FAKE_INIT);
}
const char* nvmlErrorString(int code) {
    switch (code) {
        case 9:
            return "Driver Not Loaded";
        case 15:
            return "GPU is lost";
        case 17:
            return "GPU access blocked by the operating system";
        case 18:
            return "Driver/library version mismatch";
        default:
            return nullptr;
    }
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    return put("580.159.04", text, size);
}
int nvmlSystemGetNVMLVersion(char* text, unsigned size) {
    return put("13.580.159.04", text, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    *version = 13000;
    return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    fake::at("enumerate");
    *count = fake::lies("endless-devices") ? 0xffffffff : 2;
    return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, int** device) {
    *device = &first_device;
    return index == 0 ? kSuccess : fake::returned("nvmlDeviceGetHandleByIndex_v2", kGpuIsLost);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, int** device) {
    *device = &first_device;
    return strcasecmp(address, "0000:c1:00.0") == 0 ? kSuccess : kGpuIsLost;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, int** device) {
    *device = &instances[uuid[4] == '1' ? 0 : 1];
    return std::strncmp(uuid, "MIG-", 4) == 0 ? kSuccess : kGpuIsLost;
}
int nvmlDeviceGetName(int* device, char* text, unsigned size) {
    fake::at("query");
    if (is_instance(device))
        return put("Fake GPU MIG 1g.12gb+me", text, size);
    if (fake::lies("name-without-end")) {
        std::memset(text, 'x', size);
        return kSuccess;
    }
    return put("Fake \xff GPU", text, size);
}
int nvmlDeviceGetUUID(int* device, char* text, unsigned size) {
    if (is_instance(device))
        return put(device == &instances[0] ? "MIG-10010203-0405-0607-0809-0a0b0c0d0e00"
                                           : "MIG-20010203-0405-0607-0809-0a0b0c0d0e00",
                   text, size);
    return put("GPU-00010203-0405-0607-0809-0a0b0c0d0e00", text, size);
}
int nvmlDeviceGetPciInfo_v3(int*, FakePci* pci) {
    pci->id = 0x268410de;
    pci->subsystem = 0x16f110de;
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:C1:00.0");
    return kSuccess;
}
int nvmlDeviceGetMemoryInfo(int*, FakeMemoryV1*) {
    return kNotSupported;
}
int nvmlDeviceGetMemoryInfo_v2(int* device, FakeMemory* memory) {
    fake::at("memory");
    // The caller must pass the version of the structure: size | 2 << 24.
    if (memory->version != (sizeof(FakeMemory) | 2u << 24u))
        return 25;
    constexpr unsigned long long kMebibyte = 1 << 20;
    memory->total = 24576 * kMebibyte;
    memory->reserved = 512 * kMebibyte;
    memory->free = std::strcmp(kFault, "NoMemory") == 0 ? 512 * kMebibyte : 20480 * kMebibyte;
    if (std::getenv(fake::kContextVariable))
        memory->free -= fake::kContextBytes;
    if (fake::lies("another-leaves"))
        memory->free -= of_another();
    memory->used = memory->total - memory->reserved - memory->free;
    if (is_instance(device))
        *memory = {memory->version, 12288 * kMebibyte, 0, 12000 * kMebibyte, 288 * kMebibyte};
    return kSuccess;
}
int nvmlDeviceGetMigMode(int*, unsigned* current, unsigned* pending) {
    *current = *pending = 1;
    return std::strcmp(kFault, "Divided") == 0 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetMaxMigDeviceCount(int*, unsigned* count) {
    *count = fake::lies("endless-devices") ? 0xffffffff : 7;
    return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(int*, unsigned index, int** device) {
    constexpr int kNotFound = 6;
    if (index != 0 && index != 2)
        return kNotFound;
    *device = &instances[index / 2];
    return kSuccess;
}
int nvmlDeviceGetGpuInstanceId(int* device, unsigned* id) {
    *id = device == &instances[0] ? 3 : 9;
    return kSuccess;
}
int nvmlDeviceGetComputeInstanceId(int*, unsigned* id) {
    *id = 0;
    return kSuccess;
}
struct FakeAttributes {
    unsigned multiprocessors, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};
int nvmlDeviceGetAttributes_v2(int* device, FakeAttributes* attributes) {
    if (device == &instances[1])  // like a driver that does not report attributes
        return kNotSupported;
    *attributes = {14, 1, 1, 0, 0, 0, 1, 1, 12288};
    return kSuccess;
}
struct FakeUtilization {
    unsigned gpu, memory;
};
int nvmlDeviceGetPersistenceMode(int*, unsigned* mode) {
    *mode = 0;
    return kSuccess;
}
int nvmlDeviceGetPowerManagementLimit(int*, unsigned* milliwatts) {
    *milliwatts = 350000;
    return kSuccess;
}
int nvmlDeviceGetPowerManagementDefaultLimit(int*, unsigned* milliwatts) {
    *milliwatts = 700000;
    return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(int*, unsigned long long* reasons) {
    *reasons = 0x44;  // the power cap and a thermal limit of the hardware
    return kSuccess;
}
int nvmlDeviceGetTotalEccErrors(int*, int type, int counter, unsigned long long* errors) {
    *errors = type == 1 && counter == 0 ? 3 : 1000;
    return kSuccess;
}
int nvmlDeviceGetRemappedRows(
    int*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
    *corrected = *failed = 0;
    *uncorrected = *pending = 1;
    return kSuccess;
}
struct FakeFeature {
    int code;
    unsigned state;
    char info[128], product[128];
    unsigned enabled, expires[4];
};
struct FakeFeatures {
    int supported;
    unsigned count;
    FakeFeature features[3];
};
/// The two features of a virtual GPU. The feature that is in use has no license.
int nvmlDeviceGetGridLicensableFeatures_v4(int*, FakeFeatures* has) {
    *has = {1, fake::lies("endless-devices") ? 0xffffffff : 2, {}};
    has->features[0] = {1, 1, "", "NVIDIA Virtual PC", 0, {}};
    has->features[1] = {3, 0, "", "NVIDIA Virtual Compute Server", 1, {}};
    return kSuccess;
}
int nvmlDeviceGetUtilizationRates(int*, FakeUtilization* rates) {
    fake::at("utilization");
    rates->gpu = static_cast<unsigned>(fake::returned("utilization", 37));
    rates->memory = 12;
    return kSuccess;
}
struct FakeProcess {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
/// A hundred compute processes, of which the last runs in an instance.
int nvmlDeviceGetComputeRunningProcesses_v3(int*, unsigned* count, FakeProcess* processes) {
    constexpr int kInsufficientSize = 7;
    constexpr unsigned kAll = 100;
    if (fake::lies("endless-processes"))
        *count = 0xffffffff;
    if (fake::lies("endless-processes") || *count < kAll) {
        *count = fake::lies("endless-processes") ? 0xffffffff : kAll;
        return kInsufficientSize;
    }
    for (unsigned place = 0; place < kAll; ++place)
        processes[place] = {1000 + place, 1024ULL * place, place == kAll - 1 ? 3 : 0xffffffff,
                            0xffffffff};
    *count = fake::lies("more-processes-than-asked") ? 0xffffffff : kAll;
    return kSuccess;
}
/// One graphics process, whose memory is unknown. This is an older version of the function.
int nvmlDeviceGetGraphicsRunningProcesses_v2(int*, unsigned* count, FakeProcess* processes) {
    processes[0] = {77, ~0ULL, 0xffffffff, 0xffffffff};
    *count = 1;
    return kSuccess;
}
int nvmlDeviceGetCudaComputeCapability(int*, int* major, int* minor) {
    *major = 8;
    *minor = 9;
    return kSuccess;
}

}  // extern "C"
