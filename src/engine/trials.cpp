// SPDX-License-Identifier: Apache-2.0
#include "report/trials.h"

#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "engine/conductor.h"
#include "engine/gpu_load.h"
#include "engine/targets.h"

/// The conductor's part for what computes: the stages "verify" and "measure".
namespace gpuprobe {
namespace {

/// What NVML averages over, and so long ago the GPU was as idle as now.
constexpr Duration kLoadHolds = std::chrono::seconds{1};

bool tells_load(const ProbeTarget& target) {
    return target.api == "nvml";
}

}  // namespace

void Engine::Impl::start_metering() {
    idle_meter.look(*source.files, machine, clock.monotonic());
    load_asked = clock.monotonic();
    metering = loop.after(IdleMeter::kShortest, [this] {
        metering.reset();
        start_trials();
    });
}

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
        start_probes(tells_load, request.allow_wake);
    if (request.stage == kMeasureStage && !request.force)
        start_metering();
    round.wait(nullptr, [this, request, progress = std::move(progress), done = std::move(done)] {
        begin_trials(request, progress, done);
    });
}

/// Of a GPU that was measured a moment ago the load is our own.
std::optional<Reason> Engine::Impl::obstacle_to(const ProbeTarget& target) const {
    if (auto obstacle = obstacle_on_host(*source.files))
        return obstacle;
    const auto* gpu = gpu_of(target);
    if (!gpu || gpu->id == measured_last)
        return std::nullopt;
    return obstacle_on_gpu(*source.files, machine, *gpu, idle_meter, clock.monotonic());
}

std::optional<ProbeResult> Engine::Impl::instead_of_trial(const ProbeTarget& target,
                                                          const ProbeRequest& request) const {
    if (auto held = ledger.instead_of(target))
        return held;
    const auto sleeper = sleeper_woken_by(target, machine);
    if (sleeper && !request.allow_wake)
        return skipped_asleep(target, *sleeper);
    if (request.stage != kMeasureStage || request.force || sleeper)
        return std::nullopt;
    if (auto obstacle = obstacle_to(target))
        return skipped(target, obstacle->code, *obstacle);
    return std::nullopt;
}

void Engine::Impl::begin_trials(const ProbeRequest& request,
                                const std::function<void(double)>& progress,
                                const std::function<void()>& done) {
    if (!is_replay())
        refresh_power(*source.files, machine);
    if (trials.empty())
        measured_last.reset();
    std::vector<ProbeTarget> due;
    for (const auto& [target, gpu] : trial_targets(report, search.targets, request)) {
        if (gpu)
            tried_gpus[target] = gpu->id;
        if (auto instead = instead_of_trial(target, request)) {
            tested_as[target] = ground_of(target);
            results.keep(std::move(*instead));
            continue;
        }
        if (request.allow_wake)
            waking.insert(target);
        if (request.force)
            forced.insert(target);
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

const Gpu* Engine::Impl::gpu_of(const ProbeTarget& target) const {
    const auto id = tried_gpus.find(target);
    if (id == tried_gpus.end())
        return nullptr;
    const auto found = std::ranges::find(report.gpus, id->second, &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// A GPU may have fallen asleep, or somebody may have begun to use it, while it waited for its
/// turn.
std::optional<ProbeResult> Engine::Impl::instead_of_start(const ProbeTarget& target) const {
    const auto sleeper = sleeper_woken_by(target, machine);
    if (sleeper && !waking.contains(target))
        return skipped_asleep(target, *sleeper);
    if (target.stage != kMeasureStage || forced.contains(target) || sleeper)
        return std::nullopt;
    if (auto obstacle = obstacle_to(target))
        return skipped(target, obstacle->code, *obstacle);
    return std::nullopt;
}

/// Whether it has to be found out first how busy the next GPU is. Once for each GPU: what follows
/// on the same one would see our own load.
bool Engine::Impl::learns_load() {
    const auto* next = trials.next();
    const auto* gpu = next ? gpu_of(*next) : nullptr;
    if (!gpu || next->stage != kMeasureStage || forced.contains(*next) || gpu->id == measured_last)
        return false;
    if (metering && idle_meter.watches(gpu->id))
        return true;
    const auto now = clock.monotonic();
    if (!gpu->apis.contains("nvml") || (load_asked && now - *load_asked < kLoadHolds))
        return false;
    load_asked = now;
    start_probes(tells_load, false);
    if (!round.running())
        return false;
    is_learning_load = true;
    round.wait(nullptr, [this] {
        is_learning_load = false;
        start_trials();
    });
    return true;
}

/// While the machine sleeps, nobody's turn comes.
void Engine::Impl::start_trials() {
    if (asleep || is_learning_load || learns_load())
        return;
    refresh_power(*source.files, machine);
    std::vector<ProbeTarget> due;
    std::vector<std::pair<ProbeTarget, ProbeResult>> not_started;
    for (const auto& target : trials.take_startable()) {
        tested_as[target] = ground_of(target);
        if (auto instead = instead_of_start(target))
            not_started.emplace_back(target, std::move(*instead));
        else
            due.push_back(target);
    }
    ledger.begin(due);
    for (const auto& target : due)
        start_trial(target);
    for (auto& [target, instead] : not_started)
        trial_finished(target, std::move(instead));
}

void Engine::Impl::start_trial(const ProbeTarget& target) {
    const bool takes_its_time = waking.erase(target) > 0 || ledger.is_cold();
    if (const auto* gpu = target.stage == kMeasureStage ? gpu_of(target) : nullptr)
        measured_last = gpu->id;
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
    if (ledger.asks_again(target, probe) && is_of_now && !asleep)
        return start_trial(target);
    if (is_of_now)
        results.keep(std::move(probe));
    forced.erase(target);
    tried_gpus.erase(target);
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
            results.forget(entry->first);
            entry = tested_as.erase(entry);
        } else {
            ++entry;
        }
    }
}

std::string Engine::Impl::ground_of(const ProbeTarget& target) const {
    return fingerprint_of(target, machine, *source.files);
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
        results.keep(std::move(probe));
    }
}

CachedProbes Engine::Impl::worth_caching() const {
    CachedProbes worth;
    for (auto& probe : results.worth_caching(report)) {
        if (probe.stage == kQueryStage) {
            worth.queries.push_back(std::move(probe));
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
        if (gpu && !results.find(target) && !instead_of_trial(target, request))
            due.push_back(target);
    if (due.empty())
        return;
    trials.add(due, nullptr, nullptr);
    start_trials();
}

}  // namespace gpuprobe
