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

/// The result of one small dispatch on one device. Each word of the output was compared.
struct Verification {
    VerificationResult result = VerificationResult::Failed;
    std::optional<std::uint64_t> words = {};        ///< number of words compared
    std::optional<std::uint64_t> wrong_words = {};  ///< number of wrong words
    std::optional<std::uint64_t> first_wrong = {};  ///< index of the first wrong word
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< why it failed, or why it could not be repeated
    bool operator==(const Verification&) const = default;
};
RECORD_MEMBERS(Verification, result, words, wrong_words, first_wrong, note, ("at_usec", at),
               reasons)

/// Reads the answer of a "verify" probe. An invalid answer (without `check`, or with a
/// contradictory one) is Failed, because only a compared result counts.
Verification verification_from(const ProbeResult& probe);

}  // namespace gpuprobe::inline report
