// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/facts.h"

namespace gpuprobe::inline report {

enum class VerificationResult { Verified, Miscomputed, Failed, TimedOut, Crashed, Skipped };
constexpr std::array<EnumName<VerificationResult>, 6> names_of(VerificationResult) {
    return {{{VerificationResult::Verified, "verified"},
             {VerificationResult::Miscomputed, "miscomputed"},
             {VerificationResult::Failed, "failed"},
             {VerificationResult::TimedOut, "timed-out"},
             {VerificationResult::Crashed, "crashed"},
             {VerificationResult::Skipped, "skipped"}}};
}

/// How one small dispatch on one device ended, each word of whose result was compared.
struct Verification {
    VerificationResult result = VerificationResult::Failed;
    std::optional<std::uint64_t> words = {};        ///< compared
    std::optional<std::uint64_t> wrong_words = {};  ///< of those
    std::optional<std::uint64_t> first_wrong = {};  ///< its place, from 0
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< why it failed, or why there is nothing newer
    bool operator==(const Verification&) const = default;
};
RECORD_MEMBERS(Verification, result, words, wrong_words, first_wrong, note, ("at_usec", at),
               reasons)

/// What a probe of the stage "verify" says. An answer that is none (no `check`, or one that
/// contradicts itself) is Failed: only a result that was compared counts.
Verification verification_from(const ProbeResult& probe);

}  // namespace gpuprobe::inline report
