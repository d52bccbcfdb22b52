// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "misbehave.h"

/// Computes the results of gpuprobe's kernels by name, for drivers that cannot interpret kernels.
namespace fake {

/// The fault of a driver during computations.
enum class Fault {
    None,
    WrongNumbers,  ///< x + 1 instead of x * 3 + 1; the results of other kernels are also off by one
    NeverEnds,     ///< a kernel is accepted but never finishes
    NoMemory,      ///< buffers cannot be allocated
    LostHalfway,   ///< the device is lost after the first kernel
    Crash,         ///< SIGSEGV when a kernel is launched
    BuildFails,    ///< compilation fails
    NoCompiler,    ///< the driver has no compiler
    WrongRates,    ///< the check is correct, but timed kernels return wrong numbers
};

struct Launch {
    std::string_view kernel;
    const std::uint32_t* from;
    std::uint32_t* to;
    std::uint32_t groups, rounds;
    std::int32_t factor, addend;
};

inline std::int32_t byte_of(std::uint32_t word, int number) {
    return static_cast<std::int8_t>(word >> (8 * number));
}

inline std::uint32_t next_of_bytes(std::uint32_t x, std::int32_t factor, std::int32_t addend) {
    auto next = addend;
    for (int i = 0; i < 4; ++i)
        next += byte_of(x, i) * byte_of(static_cast<std::uint32_t>(factor), i);
    return static_cast<std::uint32_t>(next);
}

/// The sum of the eight chains of a thread.
inline std::uint32_t chains(const Launch& launch, std::uint32_t thread) {
    double sum = 0;
    std::uint32_t word = 0;
    for (std::uint32_t chain = 0; chain < 8; ++chain) {
        if (launch.kernel == "fp32")
            sum += ((thread + chain) & 63) + 8.0 * launch.rounds;
        if (launch.kernel == "fp16")
            sum += 2.0 * launch.addend - ((thread + chain) & 31) - ((thread + chain + 1) & 31);
        auto x = thread * 8 + chain;
        for (std::uint32_t step = 0; launch.kernel == "int8" && step < 16 * launch.rounds; ++step)
            x = next_of_bytes(x, launch.factor, launch.addend);
        word += x;
    }
    return launch.kernel == "int8" ? word : static_cast<std::uint32_t>(sum);
}

inline void compute(const Launch& launch, Fault fault) {
    const bool is_check = launch.kernel == "check";
    const std::uint32_t off = fault == Fault::WrongRates && !is_check ? 1 : 0;
    const std::size_t words = std::size_t{launch.groups} * 128 * 64;
    const auto factor = static_cast<std::uint32_t>(launch.factor);
    const auto addend = static_cast<std::uint32_t>(launch.addend);
    if (launch.kernel == "copy")
        std::memcpy(launch.to, launch.from, words * 4);
    for (std::size_t i = 0; launch.kernel == "fill" && i < words; ++i)
        launch.to[i] = static_cast<std::uint32_t>(i) * factor + addend;
    for (std::uint32_t thread = 0; thread < launch.groups * 128; ++thread) {
        if (is_check)
            launch.to[thread] = fault == Fault::WrongNumbers ? launch.from[thread] + 1
                                                             : launch.from[thread] * 3 + 1;
        if (launch.kernel == "read") {
            // The order does not matter, because only the total is checked.
            launch.to[thread] = off;
            for (std::size_t i = 0; i < 64; ++i)
                launch.to[thread] += launch.from[thread * std::size_t{64} + i];
        }
        if (launch.kernel == "fp32" || launch.kernel == "fp16" || launch.kernel == "int8")
            launch.to[thread] = chains(launch, thread) + off;
    }
}

}  // namespace fake
