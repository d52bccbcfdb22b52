// SPDX-License-Identifier: Apache-2.0
#include "report/runtime.h"

#include <algorithm>
#include <array>

#include "report/fact_key.h"

namespace gpuprobe::inline report {
namespace {

/// Outcomes of the drivers of one API, best first.
constexpr std::array kBestFirst{Outcome::Answered, Outcome::Failed,  Outcome::TimedOut,
                                Outcome::Crashed,  Outcome::Skipped, Outcome::Absent};

bool is_better(Outcome left, Outcome right) {
    return std::ranges::find(kBestFirst, left) < std::ranges::find(kBestFirst, right);
}

void add_driver(const ProbeResult& probe, RuntimeInfo& runtime) {
    if (!probe.driver.empty())
        runtime.drivers.push_back(
            RuntimeDriver{.manifest = probe.driver, .outcome = probe.outcome, .note = probe.note});
}

/// Takes each value from the first driver that reports it.
void add_facts(const ProbeResult& probe, RuntimeInfo& runtime) {
    if (!runtime.loader)
        runtime.loader = fact(probe, runtime_facts::kLoader);
    if (!runtime.version)
        runtime.version = fact(probe, runtime_facts::kVersion);
    if (!runtime.release)
        runtime.release = fact(probe, runtime_facts::kRocmVersion);
}

/// The last lines that the driver printed, from the reason `worker-output`.
std::optional<std::vector<std::string>> output_of(const ProbeResult& probe) {
    const auto said = std::ranges::find_if(
        probe.reasons, [](const Reason& reason) { return reason.is("worker-output"); });
    const auto* lines = said == probe.reasons.end() ? nullptr : said->detail.at("lines").as_array();
    if (!lines)
        return std::nullopt;
    std::vector<std::string> output;
    for (const auto& line : *lines)
        if (const auto* text = line.as_string())
            output.push_back(*text);
    return output;
}

}  // namespace

std::map<std::string, RuntimeInfo> runtimes_of(const std::vector<const ProbeResult*>& probes) {
    std::map<std::string, RuntimeInfo> runtimes;
    for (const auto* probe : probes) {
        if (probe->stage != "query")
            continue;
        const auto [entry, is_new] = runtimes.try_emplace(probe->api);
        auto& runtime = entry->second;
        if (is_new || is_better(probe->outcome, runtime.outcome))
            runtime.outcome = probe->outcome;
        add_driver(*probe, runtime);
        add_facts(*probe, runtime);
    }
    return runtimes;
}

std::optional<std::vector<std::string>> confinement_of(
    const std::vector<const ProbeResult*>& probes) {
    std::optional<std::vector<std::string>> common;
    for (const auto* probe : probes) {
        if (!probe->confinement)
            continue;
        if (!common)
            common = probe->confinement;
        // Keep only the mechanisms that every worker reported.
        std::erase_if(*common, [probe](const std::string& word) {
            return std::ranges::find(*probe->confinement, word) == probe->confinement->end();
        });
    }
    return common;
}

std::vector<ProbeEntry> probe_entries(const std::vector<const ProbeResult*>& probes) {
    std::vector<ProbeEntry> entries;
    for (const auto* probe : probes)
        entries.push_back(ProbeEntry{.api = probe->api,
                                     .driver = probe->driver,
                                     .stage = probe->stage,
                                     .device = probe->device,
                                     .outcome = probe->outcome,
                                     .duration = probe->duration,
                                     .exit_code = probe->exit_code,
                                     .signal = probe->signal,
                                     .phase = probe->phase,
                                     .note = probe->note,
                                     .output = output_of(*probe)});
    return entries;
}

}  // namespace gpuprobe::inline report
