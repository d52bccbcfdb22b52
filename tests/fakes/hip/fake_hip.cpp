// SPDX-License-Identifier: Apache-2.0
/// A fake libamdhip64.so.6 with one device, or with hipGetDeviceCount's error for no device.
/// FAKE_FAULT is the fault of its computations. The library contains the compiler, as in ROCm 5.
#include <cstddef>
#include <cstring>

namespace {
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
}  // namespace

#include "fake_hip_compute.h"

extern "C" {

struct FakeUuid {
    char bytes[16];
};

int hipGetDeviceCount(int* count) {
    *count = FAKE_INIT == 0 ? 1 : 0;
    return FAKE_INIT;
}
const char* hipGetErrorName(int code) {
    return code == 100 ? "hipErrorNoDevice" : "hipErrorUnknown";
}
int hipRuntimeGetVersion(int* version) {
    *version = 60140092;
    return kSuccess;
}
int hipDriverGetVersion(int* version) {
    *version = 0;
    return kSuccess;
}
int hipDeviceGet(int* device, int index) {
    *device = index;
    return kSuccess;
}
int hipDeviceGetName(char* name, int size, int) {
    std::strncpy(name, "Fake Radeon", static_cast<std::size_t>(size));
    return kSuccess;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
    *bytes = std::size_t{16} << 30U;
    return kSuccess;
}
int hipDeviceGetPCIBusId(char* text, int size, int) {
    std::strncpy(text, "0000:C1:00.0", static_cast<std::size_t>(size));
    return kSuccess;
}
int hipDeviceGetUuid(FakeUuid* uuid, int) {
    std::memcpy(uuid->bytes, "0123456789abcdef", sizeof uuid->bytes);
    return kSuccess;
}

}  // extern "C"
