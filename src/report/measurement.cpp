// SPDX-License-Identifier: Apache-2.0
#include "report/measurement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/fact_key.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kMaxMeasurementNote = 512;
/// Largest plausible rate: a hundred times the rate of the largest accelerator today.
constexpr double kMaxRate = 1e18;
constexpr double kMaxSpread = 1000;
/// Largest plausible context: with more, another process allocated memory at the same time.
constexpr Bytes kMaxContext = gib(8);
/// The constants in score_of()'s formula.
constexpr double kWeightBytes = 4e9;
constexpr double kPromptOperations = 4 * 14e9;

/// JSON keys of rates, and the members that hold them.
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

/// The number, if it is finite, positive and at most `limit`.
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
    // A measurement is about one device; any other number of devices leaves it without figures.
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

}  // namespace gpuprobe::inline report
