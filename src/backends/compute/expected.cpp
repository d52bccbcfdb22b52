// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/expected.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kFp32Starts = 63;  ///< chains start at these bits of thread + chain
constexpr std::uint32_t kFp16Starts = 31;

/// Two steps with a factor of -1 add one: x, b - x, x + 1.
std::uint32_t fp32_word(std::uint32_t thread, std::uint32_t rounds) {
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain)
        sum += ((thread + chain) & kFp32Starts) + rounds * kRoundSteps / 2;
    return sum;
}

/// An even number of steps with a factor of -1 gives the start again; the kernel then takes one
/// more.
std::uint32_t fp16_word(std::uint32_t thread, std::uint32_t addend) {
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain)
        sum += 2 * addend - ((thread + chain) & kFp16Starts) - ((thread + chain + 1) & kFp16Starts);
    return sum;
}

std::int32_t signed_byte(std::uint32_t word, int number) {
    return static_cast<std::int8_t>(word >> (8 * number));
}

std::uint32_t int8_word(std::uint32_t thread, const KernelArguments& arguments) {
    const auto factor = static_cast<std::uint32_t>(arguments.factor);
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain) {
        auto x = thread * kChains + chain;
        for (std::uint64_t step = 0; step < std::uint64_t{arguments.rounds} * kRoundSteps; ++step) {
            auto next = arguments.addend;
            for (int byte = 0; byte < 4; ++byte)
                next += signed_byte(x, byte) * signed_byte(factor, byte);
            x = static_cast<std::uint32_t>(next);
        }
        sum += x;
    }
    return sum;
}

}  // namespace

std::uint32_t filled_sum(std::uint64_t words, const KernelArguments& arguments) {
    // The sum of i from 0 to words - 1. One of the two factors is even; it is halved before the
    // product can wrap.
    const auto pairs = words % 2 == 0 ? words / 2 * (words - 1) : (words - 1) / 2 * words;
    return static_cast<std::uint32_t>(pairs) * static_cast<std::uint32_t>(arguments.factor) +
           static_cast<std::uint32_t>(words) * static_cast<std::uint32_t>(arguments.addend);
}

KernelArguments arithmetic_arguments(Kernel kernel, std::uint32_t random) {
    constexpr std::uint32_t kOddBytes = 0x01010101;  // a factor of zero would end the chain
    if (kernel == Kernel::Int8)
        return {.factor = static_cast<std::int32_t>(random | kOddBytes),
                .addend = static_cast<std::int32_t>(random >> 16)};
    return {.factor = -1, .addend = static_cast<std::int32_t>(32 + random % 32)};
}

std::uint32_t arithmetic_word(Kernel kernel,
                              std::uint32_t thread,
                              const KernelArguments& arguments) {
    if (kernel == Kernel::Fp32)
        return fp32_word(thread, arguments.rounds);
    if (kernel == Kernel::Fp16)
        return fp16_word(thread, static_cast<std::uint32_t>(arguments.addend));
    return int8_word(thread, arguments);
}

std::uint32_t operations_per_round(Kernel kernel) {
    constexpr std::uint32_t kSteps = kChains * kRoundSteps;
    if (kernel == Kernel::Fp32)
        return kSteps * 2;
    return kernel == Kernel::Fp16 ? kSteps * 2 * 2 : kSteps * 4 * 2;
}

}  // namespace gpuprobe::backends
