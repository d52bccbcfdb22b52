// SPDX-License-Identifier: Apache-2.0
#include "report/promise.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/fact_key.h"

namespace gpuprobe::inline report {
namespace {

/// Number of FP32 cores per multiprocessor; each executes one FMA per clock.
struct Cores {
    std::string_view compute_capability;
    std::uint64_t count;
};
constexpr std::array<Cores, 15> kCores{{{"5.0", 128},
                                        {"5.2", 128},
                                        {"5.3", 128},
                                        {"6.0", 64},
                                        {"6.1", 128},
                                        {"6.2", 128},
                                        {"7.0", 64},
                                        {"7.2", 64},
                                        {"7.5", 64},
                                        {"8.0", 64},
                                        {"8.6", 128},
                                        {"8.7", 128},
                                        {"8.9", 128},
                                        {"9.0", 128},
                                        {"10.0", 128}}};
/// Largest plausible values: no device today exceeds them, and their products do not overflow.
constexpr std::uint64_t kMaxClock = 100'000'000'000;
constexpr std::uint64_t kMaxWidth = 1'000'000;

/// The fact, if it is positive and at most `limit`.
std::optional<std::uint64_t> plausible(const Value& device,
                                       FactKey<std::uint64_t> key,
                                       std::uint64_t limit) {
    const auto number = fact(device, key);
    return number && *number > 0 && *number <= limit ? number : std::nullopt;
}

/// The cores per multiprocessor of this GPU; nullopt for an unknown compute capability.
std::optional<std::uint64_t> cores_of(const Gpu& gpu) {
    const auto& capability = gpu.architecture.cuda_compute_capability;
    const auto* found =
        std::ranges::find(kCores, capability.value_or(""), &Cores::compute_capability);
    return found == kCores.end() ? std::nullopt : std::optional{found->count};
}

}  // namespace

Promise promise_of(const Gpu& gpu) {
    const auto view = gpu.apis.find("cuda");
    if (view == gpu.apis.end())
        return {};
    const auto& device = view->second.device;
    const auto memory_clock = plausible(device, facts::kMemoryClock, kMaxClock);
    const auto bus_bits = plausible(device, facts::kMemoryBusBits, kMaxWidth);
    const auto clock = plausible(device, facts::kClock, kMaxClock);
    const auto processors = plausible(device, facts::kMultiprocessors, kMaxWidth);
    const auto cores = cores_of(gpu);
    Promise promise;
    // Two transfers per clock; bits to bytes.
    if (memory_clock && bus_bits)
        promise.memory = 2 * *memory_clock * (*bus_bits / 8);
    if (clock && processors && cores)
        promise.fp32 = 2 * *clock * *processors * *cores;
    return promise;
}

}  // namespace gpuprobe::inline report
