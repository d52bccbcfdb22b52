// SPDX-License-Identifier: Apache-2.0
#include "report/trials.h"

#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "engine/conductor.h"
#include "engine/measuring.h"
#include "engine/schedule.h"
#include "engine/trial_ground.h"
#include "engine/trial_targets.h"

/// The conductor's part for what computes: the stages "verify" and "measure".
namespace gpuprobe {
namespace {

ProbeResult skipped(const ProbeTarget& target, Reason reason) {
    return ProbeResult{.api = target.api,
                       .driver = target.driver,
                       .stage = target.stage,
                       .device = target.device,
                       .outcome = Outcome::Skipped,
                       .note = reason.code,
                       .reasons = {std::move(reason)}};
}

}  // namespace

/// The drivers answer first where what they said is not of now: which devices there are, and what
/// NVML knows of their load.
void Engine::Impl::ask_for_trials(const ProbeRequest& request,
                                  std::function<void(double)> progress,
                                  std::function<void()> done) {
    if (quiet_start)
        start_what_is_due();
    if (rescan())
        start_all_probes();
    else if (request.stage == kMeasureStage)
        start_probes([](const ProbeTarget& target) { return target.api == "nvml"; },
                     request.allow_wake);
    round.wait(nullptr, [this, request, progress = std::move(progress), done = std::move(done)] {
        begin_trials(request, progress, done);
    });
}

std::optional<ProbeResult> Engine::Impl::instead_of_trial(const ProbeTarget& target,
                                                          const Gpu* gpu,
                                                          const ProbeRequest& request) const {
    if (auto held = ledger.instead_of(target))
        return held;
    const auto sleeper = sleeper_woken_by(target, machine);
    if (sleeper && !request.allow_wake)
        return skipped_asleep(target, *sleeper);
    if (request.stage != kMeasureStage || request.force || sleeper)
        return std::nullopt;
    if (auto obstacle = obstacle_to_measuring(*source.files, machine, gpu))
        return skipped(target, std::move(*obstacle));
    return std::nullopt;
}

void Engine::Impl::begin_trials(const ProbeRequest& request,
                                const std::function<void(double)>& progress,
                                const std::function<void()>& done) {
    if (!is_replay())
        refresh_power(*source.files, machine);
    std::vector<ProbeTarget> due;
    for (const auto& [target, gpu] : trial_targets(report, search.targets, request)) {
        if (auto instead = instead_of_trial(target, gpu, request)) {
            tested_as[target] = ground_of(target);
            answers.keep(std::move(*instead));
            continue;
        }
        if (request.allow_wake)
            waking.insert(target);
        due.push_back(target);
    }
    if (due.empty()) {
        publish();
        if (done)
            done();
        return;
    }
    trials.add(due, progress, done);
    start_trials();
    publish();
}

/// A GPU may have fallen asleep while it waited for its turn. While the machine does, nobody's turn
/// comes.
void Engine::Impl::start_trials() {
    if (asleep)
        return;
    refresh_power(*source.files, machine);
    std::vector<ProbeTarget> due;
    std::vector<std::pair<ProbeTarget, ProbeResult>> sleeping;
    for (const auto& target : trials.take_startable()) {
        tested_as[target] = ground_of(target);
        const auto sleeper = sleeper_woken_by(target, machine);
        if (sleeper && !waking.contains(target))
            sleeping.emplace_back(target, skipped_asleep(target, *sleeper));
        else
            due.push_back(target);
    }
    ledger.begin(due);
    for (const auto& target : due)
        start_trial(target);
    for (auto& [target, instead] : sleeping)
        trial_finished(target, std::move(instead));
}

void Engine::Impl::start_trial(const ProbeTarget& target) {
    const bool takes_its_time = waking.erase(target) > 0 || ledger.is_cold();
    supervisor.start(
        target, [this, target](ProbeResult probe) { trial_finished(target, std::move(probe)); },
        takes_its_time ? Patience::Double : Patience::Usual);
}

std::set<ProbeTarget> Engine::Impl::all_running() const {
    auto all = round.targets();
    all.insert(trials.running().begin(), trials.running().end());
    return all;
}

/// Whether the device and its driver are what they were when it was asked.
bool Engine::Impl::is_as_tested(const ProbeTarget& target) const {
    const auto known = tested_as.find(target);
    return known != tested_as.end() && known->second == ground_of(target);
}

void Engine::Impl::trial_finished(const ProbeTarget& target, ProbeResult probe) {
    const bool is_of_now = is_as_tested(target);
    if (ledger.asks_again(target, probe) && is_of_now)
        return start_trial(target);
    if (is_of_now)
        answers.keep(std::move(probe));
    const auto over = trials.finish(target);
    if (is_of_now)
        ledger.narrow();
    else
        ledger.settle(all_running());  // whatever it did, it is no longer there
    start_trials();
    if (over.empty() && !trials.empty()) {
        if (!gathering)
            gathering = loop.after(kGather, [this] { publish(); });
        return;
    }
    publish();
    save_cache();
    for (const auto& done : over)
        done();
}

/// What was found on a device or a driver that is another one now says nothing of it.
void Engine::Impl::forget_outdated_trials() {
    for (auto entry = tested_as.begin(); entry != tested_as.end();) {
        const bool is_outdated = entry->second != ground_of(entry->first);
        // One that runs is judged when it ends.
        if (is_outdated && !trials.running().contains(entry->first)) {
            answers.forget(entry->first);
            entry = tested_as.erase(entry);
        } else {
            ++entry;
        }
    }
}

std::string Engine::Impl::ground_of(const ProbeTarget& target) const {
    return trial_ground(target, machine, *source.files);
}

/// The target of which this is the answer; nullopt where no driver offers it any more.
std::optional<ProbeTarget> Engine::Impl::target_of(const ProbeResult& probe) const {
    const auto offered = std::ranges::find_if(search.targets, [&probe](const auto& target) {
        return target.api == probe.api && target.driver == probe.driver;
    });
    if (offered == search.targets.end() && probe.api != kCpuApi)
        return std::nullopt;
    auto target = offered == search.targets.end() ? ProbeTarget{.api = probe.api} : *offered;
    target.stage = probe.stage;
    target.device = probe.device;
    return target;
}

void Engine::Impl::take_cached_trials(std::vector<CachedTrial> cached) {
    for (auto& [ground, probe] : cached) {
        const auto target = target_of(probe);
        if (probe.stage == kQueryStage || !target || ground != ground_of(*target))
            continue;
        tested_as[*target] = std::move(ground);
        answers.keep(std::move(probe));
    }
}

CachedAnswers Engine::Impl::worth_caching() const {
    CachedAnswers worth;
    for (auto& probe : answers.worth_caching(report)) {
        if (probe.stage == kQueryStage) {
            worth.probes.push_back(std::move(probe));
            continue;
        }
        const auto target = target_of(probe);
        const auto known = target ? tested_as.find(*target) : tested_as.end();
        if (known != tested_as.end())
            worth.trials.push_back({.fingerprint = known->second, .probe = std::move(probe)});
    }
    return worth;
}

/// Once for each: whatever became of it, the same driver is not asked again in the background.
void Engine::Impl::verify_in_the_background() {
    const ProbeRequest request{.stage = std::string{kVerifyStage}};
    if (is_replay() || !options.verifies)
        return;
    std::vector<ProbeTarget> due;
    for (const auto& [target, gpu] : trial_targets(report, search.targets, request))
        if (gpu && !answers.find(target) && !instead_of_trial(target, gpu, request))
            due.push_back(target);
    if (due.empty())
        return;
    trials.add(due, nullptr, nullptr);
    start_trials();
}

}  // namespace gpuprobe
