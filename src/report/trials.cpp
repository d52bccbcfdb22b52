// SPDX-License-Identifier: Apache-2.0
#include "report/trials.h"

#include <algorithm>

namespace gpuprobe::inline report {
namespace {

/// Whether the probe was a trial of that device.
bool is_of(const ProbeResult& probe,
           std::string_view api,
           std::string_view driver,
           const std::optional<std::string>& device) {
    return probe.api == api && probe.driver == driver && probe.device == device;
}

Reason miscomputed(const Verification& verification) {
    return because("miscomputed", {{"words", to_value(verification.words)},
                                   {"wrong_words", to_value(verification.wrong_words)},
                                   {"first_wrong", to_value(verification.first_wrong)}});
}

Reason not_computing(std::string_view api, const Verification& verification) {
    return because("not-computing", {{"api", api},
                                     {"result", to_value(verification.result)},
                                     {"note", to_value(verification.note)}});
}

}  // namespace

std::optional<std::string> device_key(const DeviceFacts& facts) {
    // An API that does not know the address often reports zeros.
    if (facts.pci && *facts.pci != PciAddress{})
        return "pci:" + text_of(*facts.pci);
    if (facts.index)
        return "index:" + std::to_string(*facts.index);
    return std::nullopt;
}

Trials trials_of(const std::vector<const ProbeResult*>& probes,
                 std::string_view api,
                 std::string_view driver,
                 const std::optional<std::string>& device) {
    Trials trials;
    for (const auto* probe : probes) {
        if (!is_of(*probe, api, driver, device))
            continue;
        if (probe->stage == kVerifyStage)
            trials.verification = verification_from(*probe);
        if (probe->stage == kMeasureStage)
            trials.measurement = measurement_from(*probe);
    }
    if (trials.measurement)
        trials.score = score_of(*trials.measurement);
    return trials;
}

void add_trials(const Trials& trials, std::string_view api, BackendView& view) {
    view.verification = trials.verification;
    view.measurement = trials.measurement;
    view.score = trials.score;
    // Not tried: leave the verdict as it was.
    if (!view.verification || view.verification->result == VerificationResult::Skipped)
        return;
    view.verified = view.verification->result == VerificationResult::Verified;
    if (view.verified)
        return;
    const bool is_wrong = view.verification->result == VerificationResult::Miscomputed;
    // A wrong result replaces all other reasons, unless the backend was not usable anyway.
    if (is_wrong && view.usable != false) {
        view.usable = false;
        view.reasons.clear();
    }
    view.reasons.push_back(is_wrong ? miscomputed(*view.verification)
                                    : not_computing(api, *view.verification));
}

}  // namespace gpuprobe::inline report
