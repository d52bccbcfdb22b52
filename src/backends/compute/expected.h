// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/compute/device.h"

/// What the kernels must give: the same arithmetic, on the host. All of it is exact in the kernels'
/// types, so that fused and unfused steps agree and nothing needs a tolerance.
namespace gpuprobe::backends {

constexpr std::uint32_t checked_word(std::uint32_t input) {
    return input * 3 + 1;
}

/// The sum of the first `words` that Fill writes.
std::uint32_t filled_sum(std::uint64_t words, const KernelArguments& arguments);

/// Arguments with which an arithmetic kernel stays exact for fewer than kMaxRounds rounds, and from
/// whose values no compiler can tell the result. `random` picks among them.
KernelArguments arithmetic_arguments(Kernel kernel, std::uint32_t random);
constexpr std::uint32_t kMaxRounds = 1U << 17;

/// The word of one thread of Fp32, Fp16 or Int8, for arguments of that kind.
std::uint32_t arithmetic_word(Kernel kernel,
                              std::uint32_t thread,
                              const KernelArguments& arguments);

/// Operations that one thread does in one round: an addition and a multiplication are two.
std::uint32_t operations_per_round(Kernel kernel);

}  // namespace gpuprobe::backends
