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

/// The member `check` of a device's facts: what became of a kernel whose every word was compared.
struct Check {
    CheckResult result = CheckResult::Failed;
    std::optional<std::uint32_t> words = {};  ///< compared
    std::optional<std::uint32_t> wrong_words = {};
    std::optional<std::uint32_t> first_wrong = {};  ///< its number
    std::optional<std::string> note = {};
};
template <class Visitor>
void describe(Visitor& visit, Check& check) {
    visit("result", check.result);
    visit("words", check.words);
    visit("wrong_words", check.wrong_words);
    visit("first_wrong", check.first_wrong);
    visit("note", check.note);
}

/// Runs Kernel::Check on these words. Before, each word of the output is made what is wrong there,
/// so that a kernel that did nothing can't pass. At most kMaxCheckedWords, a multiple of
/// kGroupThreads.
Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input);
constexpr std::size_t kMaxCheckedWords = std::size_t{1} << 20;

/// Words that are others each time. Errors of the kernel's generator leave zeros, of which one
/// kernel's result is as good as another's.
std::vector<std::uint32_t> random_words(std::size_t count);

}  // namespace gpuprobe::backends
