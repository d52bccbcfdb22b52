// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/properties/recipe.h"

namespace gpuprobe::testing_properties {

inline const WallTime kNow{std::chrono::microseconds{1'800'000'000'000'000}};

/// The results that the scan and the workers would give on such a machine.
struct MachineFixture {
    std::string story = {};
    Machine machine = {};
    std::vector<ProbeResult> probes = {};
    std::optional<Caller> caller = {};
    std::optional<std::uint64_t> scores = {};
    std::optional<std::uint64_t> sample = {};  ///< the recipe's `sample`
};

using ProbeKey = std::pair<std::string, std::string>;  // API and driver

inline void suffer(ProbeResult& probe, Mishap mishap) {
    probe.devices.clear();
    probe.runtime = Value{};
    probe.reasons.clear();
    switch (mishap) {
        case Mishap::Absent:
            probe.outcome = Outcome::Absent;
            return;
        case Mishap::Crashed:
            probe.outcome = Outcome::Crashed;
            probe.signal = 11;
            return;
        case Mishap::TimedOut:
            probe.outcome = Outcome::TimedOut;
            return;
        case Mishap::Asleep:
            probe.outcome = Outcome::Skipped;
            probe.reasons = {because("asleep")};
            return;
        case Mishap::Failed:
        case Mishap::NotAsked:
            probe.outcome = Outcome::Failed;
            return;
    }
}

/// Adds the record to the probe of its driver. A driver counts its devices from 0.
inline void add_record(const ApiRecord& record,
                       std::map<ProbeKey, ProbeResult>& queries,
                       std::vector<ProbeResult>& trials) {
    auto& query =
        queries.try_emplace({record.probe.api, record.probe.driver}, record.probe).first->second;
    auto facts = record.facts;
    if (facts.index)
        facts.index = static_cast<std::uint32_t>(query.devices.size());
    for (auto trial : record.trials) {
        trial.device = device_key(facts);
        trials.push_back(std::move(trial));
    }
    query.devices.push_back(std::move(facts));
}

inline MachineFixture scene_of(const Recipe& recipe) {
    MachineFixture fixture{.story = recipe.story,
                           .caller = recipe.caller,
                           .scores = recipe.scores,
                           .sample = recipe.sample};
    fixture.machine = {.host = recipe.host, .shared_nodes = recipe.shared_nodes};
    std::map<ProbeKey, ProbeResult> queries;
    for (const auto& part : recipe.parts) {
        if (part.hardware)
            fixture.machine.devices.push_back(*part.hardware);
        for (const auto& record : part.records)
            add_record(record, queries, fixture.probes);
    }
    for (const auto& record : recipe.software)
        add_record(record, queries, fixture.probes);
    for (const auto& probe : recipe.empty)
        queries.try_emplace({probe.api, probe.driver}, probe);
    std::erase_if(fixture.probes, [&recipe](const ProbeResult& trial) {
        return recipe.mishaps.contains(trial.api);
    });
    for (auto& [key, probe] : queries) {
        const auto mishap = recipe.mishaps.find(key.first);
        if (mishap != recipe.mishaps.end() && mishap->second == Mishap::NotAsked)
            continue;
        if (mishap != recipe.mishaps.end())
            suffer(probe, mishap->second);
        fixture.probes.push_back(std::move(probe));
    }
    return fixture;
}

inline MachineFixture scene_of(const Recorded& recorded) {
    return {.story = recorded.name, .machine = recorded.machine, .probes = recorded.probes};
}

/// Adds measurements for each backend that works.
inline void add_scores(Report& report, std::uint64_t seed) {
    Dice dice{seed};
    for (auto& gpu : report.gpus)
        for (auto& [name, view] : gpu.backends)
            if (view.usable == true && dice.once_in(2)) {
                view.verified = true;
                view.score = 1.0 + static_cast<double>(dice.below(1000));
            }
    if (dice.once_in(2))
        report.host.cpu.score = 1.0 + static_cast<double>(dice.below(100));
}

/// The report as the caller sees it.
inline Report report_of(const MachineFixture& fixture) {
    auto report = assemble(fixture.machine, fixture.probes,
                           {.generation = 7, .source = ReportSource::Replay, .now = kNow});
    if (fixture.scores)
        add_scores(report, *fixture.scores);
    return fixture.caller ? as_seen_by(std::move(report), *fixture.caller) : report;
}
inline Report report_of(const Recipe& recipe) {
    return report_of(scene_of(recipe));
}

}  // namespace gpuprobe::testing_properties
