// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backends/cpu/cpu.h"

namespace gpuprobe::backends {
namespace {

using Input = const std::uint32_t*;
using Output = std::uint32_t*;

constexpr std::uint32_t kGroupWords = kGroupThreads * kWordsPerThread;
constexpr std::uint32_t kVectorWords = 4;
/// The number of words that the threads of a group read in one step.
constexpr std::uint32_t kRowWords = kGroupThreads * kVectorWords;

void check(Input from, Output to, std::uint32_t words) {
    for (std::uint32_t i = 0; i < words; ++i)
        to[i] = from[i] * 3 + 1;
}

void fill(Output to, std::uint32_t first, const KernelArguments& arguments) {
    const auto factor = static_cast<std::uint32_t>(arguments.factor);
    const auto addend = static_cast<std::uint32_t>(arguments.addend);
    for (std::uint32_t i = 0; i < kGroupWords; ++i)
        to[i] = (first + i) * factor + addend;
}

void read(Input from, Output to) {
    // Sum the columns in memory order, because the compiler can vectorize such a loop. Then each
    // thread adds its four columns.
    std::uint32_t sums[kRowWords] = {};
    for (std::uint32_t row = 0; row < kGroupWords; row += kRowWords)
        for (std::uint32_t i = 0; i < kRowWords; ++i)
            sums[i] += from[row + i];
    for (std::uint32_t thread = 0; thread < kGroupThreads; ++thread) {
        const auto* lanes = sums + std::size_t{thread} * kVectorWords;
        to[thread] = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    }
}

// One step of each of the eight chains; each vector lane is one kernel thread. The step is a macro,
// because the compiler splits vectors before it inlines functions: code for wide vector units must
// be in one function.
#define GPUPROBE_STEP(b) \
    x0 = x0 * a + (b);   \
    x1 = x1 * a + (b);   \
    x2 = x2 * a + (b);   \
    x3 = x3 * a + (b);   \
    x4 = x4 * a + (b);   \
    x5 = x5 * a + (b);   \
    x6 = x6 * a + (b);   \
    x7 = x7 * a + (b);
// Defines the Fp32 kernel for one group, for vectors of `bytes` bytes.
#define GPUPROBE_FP32(name, attributes, bytes)                                                     \
    attributes void name(Output to, std::uint32_t first, const KernelArguments& arguments) {       \
        typedef float Lanes __attribute__((vector_size(bytes)));                                   \
        constexpr std::uint32_t kLanes = (bytes) / sizeof(float);                                  \
        const Lanes zero = {};                                                                     \
        const Lanes a = zero + static_cast<float>(arguments.factor);                               \
        const Lanes b = zero + static_cast<float>(arguments.addend);                               \
        const Lanes c = b + 1.0F;                                                                  \
        for (std::uint32_t at = 0; at < kGroupThreads; at += kLanes) {                             \
            Lanes x0, x1, x2, x3, x4, x5, x6, x7;                                                  \
            Lanes* const chains[kChains] = {&x0, &x1, &x2, &x3, &x4, &x5, &x6, &x7};               \
            for (std::uint32_t chain = 0; chain < kChains; ++chain)                                \
                for (std::uint32_t lane = 0; lane < kLanes; ++lane)                                \
                    (*chains[chain])[lane] = static_cast<float>((first + at + lane + chain) & 63); \
            for (std::uint32_t step = 0; step < arguments.rounds * kRoundSteps; step += 2) {       \
                GPUPROBE_STEP(b)                                                                   \
                GPUPROBE_STEP(c)                                                                   \
            }                                                                                      \
            const Lanes sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;                               \
            for (std::uint32_t lane = 0; lane < kLanes; ++lane)                                    \
                to[at + lane] = static_cast<std::uint32_t>(sum[lane]);                             \
        }                                                                                          \
    }

// Vectors of 16 bytes work on every processor. On x86-64 there are also wider vectors, which are
// selected at run time.
GPUPROBE_FP32(fp32_narrow, , 16)

#if defined(__x86_64__)
GPUPROBE_FP32(fp32_avx2, __attribute__((target("avx2,fma"))), 32)
GPUPROBE_FP32(fp32_avx512, __attribute__((target("avx512f"))), 64)
#endif

using Fp32 = void (*)(Output, std::uint32_t, const KernelArguments&);

/// The version of Fp32 with the widest vectors that this processor supports.
Fp32 widest_fp32() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return fp32_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return fp32_avx2;
#endif
    return fp32_narrow;
}

}  // namespace

void run_on_cpu(Kernel kernel,
                std::span<const std::uint32_t> from,
                std::span<std::uint32_t> to,
                std::uint32_t first,
                std::uint32_t last,
                const KernelArguments& arguments) {
    if (first >= last)
        return;
    const auto words_from = std::size_t{first} * kGroupWords;
    // Groups are contiguous, so all groups can be copied with one call.
    if (kernel == Kernel::Copy) {
        std::memcpy(to.data() + words_from, from.data() + words_from,
                    std::size_t{last - first} * kGroupBytes.count);
        return;
    }
    static const Fp32 fp32 = widest_fp32();
    for (auto group = first; group < last; ++group) {
        const auto thread = group * kGroupThreads;
        const auto words = std::size_t{group} * kGroupWords;
        if (kernel == Kernel::Check)
            check(from.data() + thread, to.data() + thread, kGroupThreads);
        if (kernel == Kernel::Fill)
            fill(to.data() + words, group * kGroupWords, arguments);
        if (kernel == Kernel::Read)
            read(from.data() + words, to.data() + thread);
        if (kernel == Kernel::Fp32)
            fp32(to.data() + thread, thread, arguments);
    }
}

}  // namespace gpuprobe::backends
