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
