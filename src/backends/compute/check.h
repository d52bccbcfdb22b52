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

// The expected results of the kernels, computed on the host. All arithmetic is exact in the
// kernels' types, so that fused and unfused steps agree and no comparison needs a tolerance.

/// The word that Check writes for an input word.
constexpr std::uint32_t checked_word(std::uint32_t input) {
    return input * 3 + 1;
}

/// The sum of the first `words` words that Fill writes.
std::uint32_t filled_sum(std::uint64_t words, const KernelArguments& arguments);

/// Arguments with which an arithmetic kernel stays exact for fewer than kMaxRounds rounds. `random`
/// selects the values, so that no compiler can compute the result in advance.
KernelArguments arithmetic_arguments(Kernel kernel, std::uint32_t random);
constexpr std::uint32_t kMaxRounds = 1U << 17;

/// The word that one thread of Fp32, Fp16 or Int8 writes. `arguments` come from
/// arithmetic_arguments().
std::uint32_t arithmetic_word(Kernel kernel,
                              std::uint32_t thread,
                              const KernelArguments& arguments);

/// The number of operations that one thread performs in one round. A fused multiply-add counts as
/// two.
std::uint32_t operations_per_round(Kernel kernel);

enum class CheckResult { Verified, Miscomputed, Failed };
constexpr std::array<EnumName<CheckResult>, 3> names_of(CheckResult) {
    return {{{CheckResult::Verified, "verified"},
             {CheckResult::Miscomputed, "miscomputed"},
             {CheckResult::Failed, "failed"}}};
}

/// The member `check` of the device facts: the result of a kernel whose output was compared word by
/// word.
struct Check {
    CheckResult result = CheckResult::Failed;
    std::optional<std::uint32_t> words = {};  ///< number of words compared
    std::optional<std::uint32_t> wrong_words = {};
    std::optional<std::uint32_t> first_wrong = {};  ///< index of the first wrong word
    std::optional<std::string> note = {};
};
RECORD_MEMBERS(Check, result, words, wrong_words, first_wrong, note)

/// Runs Kernel::Check on these words, whose number is a multiple of kGroupThreads. The output
/// buffer is filled with wrong words first, so that a kernel that does nothing cannot pass.
Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input);

/// Random words. They are zero if getrandom(2) fails, which is good enough for a check.
std::vector<std::uint32_t> random_words(std::size_t count);

}  // namespace gpuprobe::backends
