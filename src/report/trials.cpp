// SPDX-License-Identifier: Apache-2.0
#include "report/trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "report/fact_key.h"
#include "report/gpu_views.h"
#include "report/trial_results.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kMaxVerificationNote = 512;

/// The result that the worker reports in `check`. "verified" is accepted only if the word counts
/// agree with this result.
VerificationResult checked(const Value& check, const Verification& found) {
    const auto* word = check.at("result").as_string();
    const auto wrong = found.wrong_words.value_or(0);
    if (word && *word == "verified" && wrong == 0 && found.words.value_or(0) > 0)
        return VerificationResult::Verified;
    // A wrong result is accepted without a check of the word counts, so that no wrong result is
    // lost.
    if (word && *word == "miscomputed")
        return VerificationResult::Miscomputed;
    return VerificationResult::Failed;
}

VerificationResult result_of(const ProbeResult& probe, const Value& check, const Verification& v) {
    // If an API cannot run kernels, no computation was tried.
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

std::optional<ProbeResult> take_check(ProbeResult& probe) {
    const bool has_reported =
        probe.outcome == Outcome::Answered ||
        (probe.outcome == Outcome::Failed && !probe.phase && !was_never_heard(probe));
    if (probe.stage != kMeasureStage || !has_reported || probe.devices.size() != 1 ||
        !fact(probe.devices.front(), facts::kCheck).is_object())
        return std::nullopt;
    const auto erase = [](ProbeResult& from, std::string_view key) {
        if (auto* members = from.devices.front().extra.as_object())
            std::erase_if(*members, [key](const auto& member) { return member.key == key; });
    };
    auto check = probe;
    check.stage = kVerifyStage;
    check.outcome = Outcome::Answered;
    // The rest is about the measurement.
    check.duration.reset();
    check.note.reset();
    check.reasons.clear();
    erase(check, "measured");
    erase(probe, "check");
    return check;
}

namespace {

constexpr std::size_t kMaxMeasurementNote = 512;
/// The largest plausible rate: a hundred times the rate of today's largest accelerator.
constexpr double kMaxRate = 1e18;
constexpr double kMaxSpread = 1000;
/// The largest plausible memory use of a context. A larger value means that another process
/// allocated memory at the same time.
constexpr Bytes kMaxContext = gib(8);
/// The constants in score_of()'s formula.
constexpr double kWeightBytes = 4e9;
constexpr double kPromptOperations = 4 * 14e9;

/// The JSON key of a rate, and the member that holds the rate.
struct Rate {
    std::string_view key;
    std::optional<std::uint64_t> Measurement::*member;
};
constexpr std::array<Rate, 7> kRates{{{"memory_read", &Measurement::memory_read},
                                      {"memory_copy", &Measurement::memory_copy},
                                      {"host_to_device", &Measurement::host_to_device},
                                      {"device_to_host", &Measurement::device_to_host},
                                      {"fp32", &Measurement::fp32},
                                      {"fp16", &Measurement::fp16},
                                      {"int8", &Measurement::int8}}};
constexpr std::string_view kLaunch = "launch_usec";

/// The number, if the number is finite, positive and at most `limit`.
std::optional<double> positive(const Value& value, double limit) {
    const auto number = value.as_double();
    if (!number || !std::isfinite(*number) || *number <= 0 || *number > limit)
        return std::nullopt;
    return number;
}

std::optional<std::uint64_t> rate_in(const Value& value) {
    const auto number = positive(value, kMaxRate);
    return number && *number >= 1 ? std::optional{static_cast<std::uint64_t>(std::llround(*number))}
                                  : std::nullopt;
}

std::optional<Bytes> context_in(const Value& value) {
    const auto bytes = value.as_unsigned();
    return bytes && *bytes > 0 && Bytes{*bytes} <= kMaxContext ? std::optional{Bytes{*bytes}}
                                                               : std::nullopt;
}

/// The spreads of known figures; unknown keys and implausible values are dropped.
std::map<std::string, double> spread_in(const Value& value) {
    std::map<std::string, double> spread;
    const auto keep = [&](std::string_view key) {
        const auto part = value.at(key).as_double();
        if (part && *part >= 0 && *part <= kMaxSpread)
            spread.emplace(key, *part);
    };
    for (const auto& rate : kRates)
        keep(rate.key);
    keep(kLaunch);
    return spread;
}

bool has_figure(const Measurement& measurement) {
    return measurement.launch || std::ranges::any_of(kRates, [&](const Rate& rate) {
               return (measurement.*rate.member).has_value();
           });
}

void read_figures(const Value& value, Measurement& measurement) {
    for (const auto& rate : kRates)
        measurement.*rate.member = rate_in(value.at(rate.key));
    measurement.launch = positive(value.at(kLaunch), kMaxRate);
    measurement.context = context_in(value.at("context"));
    measurement.spread = spread_in(value.at("spread"));
    if (const auto* note = value.at("note").as_string(); note && !note->empty())
        measurement.note = scrubbed(*note, kMaxMeasurementNote);
    if (!has_figure(measurement))
        measurement.outcome = Outcome::Failed;
}

}  // namespace

Measurement measurement_from(const ProbeResult& probe) {
    Measurement measurement{.outcome = probe.outcome,
                            .duration = probe.duration,
                            .note = probe.note,
                            .at = probe.at,
                            .reasons = probe.reasons};
    // A measurement is about one device; a measurement with any other number of devices has no
    // figures.
    if (probe.outcome == Outcome::Answered)
        read_figures(
            probe.devices.size() == 1 ? fact(probe.devices.front(), facts::kMeasured) : Value{},
            measurement);
    return measurement;
}

std::optional<double> score_of(const Measurement& measurement) {
    const auto bandwidth =
        measurement.memory_read ? measurement.memory_read : measurement.memory_copy;
    const auto rate = std::max(measurement.fp16, measurement.fp32);
    if (measurement.outcome != Outcome::Answered || !bandwidth || !rate)
        return std::nullopt;
    return 1 / (kWeightBytes / static_cast<double>(*bandwidth) +
                kPromptOperations / static_cast<double>(*rate));
}

namespace {

/// Number of FP32 cores per multiprocessor; each executes one FMA per clock.
struct Cores {
    std::string_view compute_capability;
    std::uint64_t count;
};
constexpr std::array<Cores, 15> kCores{{{"5.0", 128},
                                        {"5.2", 128},
                                        {"5.3", 128},
                                        {"6.0", 64},
                                        {"6.1", 128},
                                        {"6.2", 128},
                                        {"7.0", 64},
                                        {"7.2", 64},
                                        {"7.5", 64},
                                        {"8.0", 64},
                                        {"8.6", 128},
                                        {"8.7", 128},
                                        {"8.9", 128},
                                        {"9.0", 128},
                                        {"10.0", 128}}};
/// Largest plausible values: no device today exceeds them, and their products do not overflow.
constexpr std::uint64_t kMaxClock = 100'000'000'000;
constexpr std::uint64_t kMaxWidth = 1'000'000;

/// The fact, if it is positive and at most `limit`.
std::optional<std::uint64_t> plausible(const Value& device,
                                       FactKey<std::uint64_t> key,
                                       std::uint64_t limit) {
    const auto number = fact(device, key);
    return number && *number > 0 && *number <= limit ? number : std::nullopt;
}

/// The cores per multiprocessor of this GPU; nullopt for an unknown compute capability.
std::optional<std::uint64_t> cores_of(const Gpu& gpu) {
    const auto& capability = gpu.architecture.cuda_compute_capability;
    const auto* found =
        std::ranges::find(kCores, capability.value_or(""), &Cores::compute_capability);
    return found == kCores.end() ? std::nullopt : std::optional{found->count};
}

}  // namespace

PeakRates peak_rates_of(const Gpu& gpu) {
    const auto view = gpu.apis.find("cuda");
    if (view == gpu.apis.end())
        return {};
    const auto& device = view->second.device;
    const auto memory_clock = plausible(device, facts::kMemoryClock, kMaxClock);
    const auto bus_bits = plausible(device, facts::kMemoryBusBits, kMaxWidth);
    const auto clock = plausible(device, facts::kClock, kMaxClock);
    const auto processors = plausible(device, facts::kMultiprocessors, kMaxWidth);
    const auto cores = cores_of(gpu);
    PeakRates peak;
    // The memory transfers data twice per clock, and the width of the bus is in bits.
    if (memory_clock && bus_bits)
        peak.memory = 2 * *memory_clock * (*bus_bits / 8);
    if (clock && processors && cores)
        peak.fp32 = 2 * *clock * *processors * *cores;
    return peak;
}

namespace {

/// Whether the probe was a trial of the device.
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
    // If no computation was tried, the verdict does not change.
    if (!view.verification || view.verification->result == VerificationResult::Skipped)
        return;
    view.verified = view.verification->result == VerificationResult::Verified;
    if (view.verified) {
        // The device produced correct results, so earlier doubts no longer apply.
        view.usable = view.usable.value_or(true);
        return;
    }
    const bool is_wrong = view.verification->result == VerificationResult::Miscomputed;
    // A wrong result replaces all other reasons, unless the backend wasn't usable anyway.
    if (is_wrong && view.usable != false) {
        view.usable = false;
        view.reasons.clear();
    }
    view.reasons.push_back(is_wrong ? miscomputed(*view.verification)
                                    : not_computing(api, *view.verification));
}

}  // namespace gpuprobe::inline report
