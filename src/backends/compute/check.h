// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/compute/device.h"
#include "base/record.h"

namespace gpuprobe::backends {

// What the kernels must give: the same arithmetic, on the host. All of it is exact in the kernels'
// types, so that fused and unfused steps agree and nothing needs a tolerance.

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

enum class CheckResult { Verified, Miscomputed, Failed };
constexpr std::array<EnumName<CheckResult>, 3> names_of(CheckResult) {
    return {{{CheckResult::Verified, "verified"},
             {CheckResult::Miscomputed, "miscomputed"},
             {CheckResult::Failed, "failed"}}};
}

/// The member `check` of a device's facts: the result of a kernel whose output was compared word by
/// word.
struct Check {
    CheckResult result = CheckResult::Failed;
    std::optional<std::uint32_t> words = {};  ///< compared
    std::optional<std::uint32_t> wrong_words = {};
    std::optional<std::uint32_t> first_wrong = {};  ///< its number
    std::optional<std::string> note = {};
};
RECORD_MEMBERS(Check, result, words, wrong_words, first_wrong, note)

/// Runs Kernel::Check on these words. The output is filled with wrong words first, so that a kernel
/// that does nothing can't pass. The words are a multiple of kGroupThreads.
Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input);

/// Other words each time. Where the kernel's generator fails they stay zero, which will do as well.
std::vector<std::uint32_t> random_words(std::size_t count);

}  // namespace gpuprobe::backends
