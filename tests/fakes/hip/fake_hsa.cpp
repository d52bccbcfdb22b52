// SPDX-License-Identifier: Apache-2.0
/// A fake libhsa-runtime64.so.1 with a processor, a card and an APU, or with a known error. It is
/// built once for each behavior: FAKE_INIT is the result of hsa_init, FAKE_GPUS is the number of
/// GPUs, FAKE_CRASH ends the process when the program queries the second GPU.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../misbehave.h"

namespace {
constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 0x1001;
constexpr std::uint64_t kProcessor = 1;
constexpr std::uint64_t kCard = 2;
constexpr std::uint64_t kApu = 3;

int put(const char* text, void* value) {
    std::strcpy(static_cast<char*>(value), text);
    return kSuccess;
}
template <class T>
int put_number(T number, void* value) {
    std::memcpy(value, &number, sizeof number);
    return kSuccess;
}

int card_info(int attribute, void* value) {
    switch (attribute) {
        case 0:
            return put("gfx90a", value);
        case 6:
            return put_number<std::uint32_t>(64, value);
        case 0xA000:
            return put_number<std::uint32_t>(0x740f, value);
        case 0xA002:
            return put_number<std::uint32_t>(104, value);
        case 0xA003:
            return put_number<std::uint32_t>(1700, value);
        case 0xA004:
            return put_number<std::uint32_t>(2, value);
        case 0xA006:
            return put_number<std::uint32_t>(0x2000c100, value);  // partition 2 of 0000:c1:00.0
        case 0xA009:
            return put("Fake Instinct", value);
        case 0xA00F:
            return put_number<std::uint32_t>(1, value);
        case 0xA011:
            return put("GPU-0123456789abcdef", value);
        case 0xA015:
            return put_number(std::uint64_t{60} << 30U, value);
        case 0xA114:
            return put_number(std::uint64_t{0}, value);
        default:
            return kInvalidArgument;
    }
}

int apu_info(int attribute, void* value) {
    switch (attribute) {
        case 0:
            return put("gfx1036", value);
        case 0xA006:
            return put_number<std::uint32_t>(0x0400, value);
        case 0xA009:
            return put("", value);
        case 0xA011:
            return put("GPU-XX", value);
        case 0xA015:
            return put_number(std::uint64_t{9} << 30U, value);  // more than the pool's 8 GiB
        case 0xA114:
            return put_number(std::uint64_t{1}, value);
        default:
            return kInvalidArgument;
    }
}
}  // namespace

extern "C" {

struct FakeAgent {
    std::uint64_t handle;
};
struct FakePool {
    std::uint64_t handle;
};

int hsa_init() {
    return FAKE_INIT;
}
int hsa_status_string(int status, const char** text) {
    if (status != 0x1008)
        return kInvalidArgument;
    *text = "HSA_STATUS_ERROR_OUT_OF_RESOURCES: fake";
    return kSuccess;
}
int hsa_system_get_info(int attribute, void* value) {
    switch (attribute) {
        case 0:
            return put_number<std::uint16_t>(1, value);
        case 1:
            return put_number<std::uint16_t>(14, value);
        case 0x200:
            return put_number<const char*>("fake-build", value);
        default:
            return kInvalidArgument;
    }
}
int hsa_iterate_agents(int (*callback)(FakeAgent, void*), void* data) {
    for (std::uint64_t handle = kProcessor; handle <= kProcessor + FAKE_GPUS; ++handle)
        if (const int status = callback(FakeAgent{handle}, data); status != kSuccess)
            return status;
    return kSuccess;
}
int hsa_agent_get_info(FakeAgent agent, int attribute, void* value) {
    if (attribute == 17)
        return put_number<std::uint32_t>(agent.handle == kProcessor ? 0 : 1, value);
    if (FAKE_CRASH && agent.handle == kApu)
        fake::crash();
    return agent.handle == kCard ? card_info(attribute, value) : apu_info(attribute, value);
}
int hsa_amd_agent_iterate_memory_pools(FakeAgent agent,
                                       int (*callback)(FakePool, void*),
                                       void* data) {
    for (std::uint64_t pool = 0; pool < 3; ++pool)
        if (const int status = callback(FakePool{agent.handle * 10 + pool}, data);
            status != kSuccess)
            return status;
    return kSuccess;
}
int hsa_amd_memory_pool_get_info(FakePool pool, int attribute, void* value) {
    // Two pools that describe the same memory, and the local memory of a work-group.
    const bool is_global = pool.handle % 10 < 2;
    const bool is_card = pool.handle / 10 == kCard;
    const std::size_t size = std::size_t{is_card ? 64U : 8U} << 30U;
    if (attribute == 0)
        return put_number<std::uint32_t>(is_global ? 0 : 3, value);
    if (attribute == 2)
        return put_number(is_global ? size : ~std::size_t{0}, value);
    return kInvalidArgument;
}

}  // extern "C"
