// SPDX-License-Identifier: Apache-2.0
#include "report/verification.h"

#include "base/text.h"
#include "report/api_view.h"
#include "report/fact_key.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kMaxVerificationNote = 512;

/// The result in the check, if the check's numbers agree with it.
VerificationResult checked(const Value& check, const Verification& found) {
    const auto* word = check.at("result").as_string();
    const auto wrong = found.wrong_words.value_or(0);
    if (word && *word == "verified" && wrong == 0 && found.words.value_or(0) > 0)
        return VerificationResult::Verified;
    // Accepted without a look at the numbers, so that a wrong result is never lost.
    if (word && *word == "miscomputed")
        return VerificationResult::Miscomputed;
    return VerificationResult::Failed;
}

VerificationResult result_of(const ProbeResult& probe, const Value& check, const Verification& v) {
    // An API that cannot run kernels was not tried.
    if (has_reason(probe.reasons, "stage-not-offered") || was_never_heard(probe))
        return VerificationResult::Skipped;
    switch (probe.outcome) {
        case Outcome::Answered:
            return checked(check, v);
        case Outcome::TimedOut:
            return VerificationResult::TimedOut;
        case Outcome::Crashed:
            return VerificationResult::Crashed;
        case Outcome::Skipped:
            return VerificationResult::Skipped;
        case Outcome::Absent:
        case Outcome::Failed:
            break;
    }
    return VerificationResult::Failed;
}

}  // namespace

Verification verification_from(const ProbeResult& probe) {
    const auto check =
        probe.devices.size() == 1 ? fact(probe.devices.front(), facts::kCheck) : Value{};
    Verification found{.words = check.at("words").as_unsigned(),
                       .wrong_words = check.at("wrong_words").as_unsigned(),
                       .first_wrong = check.at("first_wrong").as_unsigned(),
                       .note = probe.note,
                       .at = probe.at,
                       .reasons = probe.reasons};
    if (const auto* note = check.at("note").as_string(); note && !note->empty())
        found.note = scrubbed(*note, kMaxVerificationNote);
    found.result = result_of(probe, check, found);
    return found;
}

}  // namespace gpuprobe::inline report
