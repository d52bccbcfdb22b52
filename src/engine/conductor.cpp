// SPDX-License-Identifier: Apache-2.0
#include "engine/conductor.h"

#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "base/version.h"
#include "engine/probe_results.h"
#include "engine/targets.h"
#include "inventory/linker_cache.h"
#include "report/assemble.h"
#include "store/probe_cache.h"

namespace gpuprobe {

void Engine::Impl::scan() {
    machine = scan_machine(*source.files, *source.nodes,
                           source.host ? *source.host : detect_host(*source.files));
    if (is_replay()) {
        for (const auto& probe : *source.recorded)
            results.put(probe);
        return;
    }
    search = find_targets(*source.files, options.folders);
    results.keep_only(search);
}

/// Whether what drivers can answer has changed since the last look. Before anybody has answered
/// here that may be a machine that is still starting, whose nodes come one by one, and then it is
/// the one that is remembered.
bool Engine::Impl::rescan() {
    scan();
    auto now = fingerprint();
    if (now == known_fingerprint)
        return false;
    known_fingerprint = std::move(now);
    outdated = round.targets();
    stability.machine_changed();
    results.machine_changed();
    forget_outdated_trials();
    if (!has_heard_all)
        load_cache();
    return true;
}

std::string Engine::Impl::fingerprint() const {
    std::vector<std::string> watched{std::string{kLinkerCache}};
    for (const auto& target : search.targets)
        if (!target.driver.empty())
            watched.push_back(target.driver);
    return fingerprint_of(machine, *source.files, watched, kVersion);
}

void Engine::Impl::load_cache() {
    if (!cache || is_replay())
        return;
    auto cached = cache->load(known_fingerprint);
    if (!cached)
        return;  // no answer yet is what a first start has too
    from_cache = from_cache || !cached->queries.empty();
    for (auto& probe : cached->queries) {
        (void)stability.check(probe, nullptr);
        results.keep(std::move(probe));
    }
    results.keep_only(search);
    take_cached_trials(std::move(cached->trials));
}

void Engine::Impl::save_cache() const {
    if (!cache || is_replay())
        return;
    // A cache that can't be written costs the next start a probe, nothing else.
    (void)cache->save(known_fingerprint, worth_caching());
}

ReportState Engine::Impl::state() const {
    if (round.running() || !trials.empty())
        return ReportState::Probing;
    return results.any_went_badly() ? ReportState::Degraded : ReportState::Ready;
}

void Engine::Impl::publish() {
    gathering.reset();
    auto next = assemble(
        machine, results.all(),
        ReportContext{.generation = report.generation,
                      .state = state(),
                      .source = is_replay()  ? ReportSource::Replay
                                : from_cache ? ReportSource::Cache
                                             : ReportSource::Live,
                      .now = is_replay() ? source.recorded_at.value_or(WallTime{}) : clock.wall()});
    if (is_replay() && !source.recorded_at)
        next.created.reset();
    next.quarantine = ledger.held();
    for (const auto& more :
         {decisions.notes(), notes, ledger.notes(), decisions.feedback().override_notes()})
        next.notes.insert(next.notes.end(), more.begin(), more.end());
    const bool is_new =
        std::exchange(is_read_anew, false) || stable_part(next) != stable_part(report);
    if (is_new)
        ++next.generation;
    report = std::move(next);
    json.clear();
    if (!is_new)
        return;
    for (const auto& listener : listeners)
        listener();
}

void Engine::Impl::start_probes(const Chosen& chosen, bool allow_wake) {
    if (is_replay())
        return;
    refresh_power(*source.files, machine);  // a GPU may have fallen asleep since the scan
    std::vector<ProbeTarget> due;
    for (const auto& target : search.targets) {
        if (!chosen(target))
            continue;
        if (asleep) {
            owed.insert(target);
            continue;
        }
        const auto sleeper = allow_wake ? std::nullopt : sleeper_woken_by(target, machine);
        auto held = round.runs(target) ? std::nullopt : ledger.instead_of(target);
        if (held || sleeper) {
            results.keep(held ? std::move(*held) : skipped_asleep(target, *sleeper));
            owed.insert(target);
        } else if (round.begin(target)) {
            due.push_back(target);
            if (sleeper_woken_by(target, machine))
                waking.insert(target);
        }
    }
    ledger.begin(due);
    for (const auto& target : due)
        ask(target);
}

void Engine::Impl::start_all_probes() {
    start_probes([](const ProbeTarget&) { return true; }, false);
}

void Engine::Impl::ask(const ProbeTarget& target) {
    owed.erase(target);
    const bool has_slept = woke_at && clock.monotonic() - *woke_at < kWakesUp;
    const bool takes_its_time = waking.erase(target) > 0 || has_slept || ledger.is_cold();
    supervisor.start(
        target, [this, target](ProbeResult probe) { finished(target, std::move(probe)); },
        takes_its_time ? Patience::Double : Patience::Usual);
}

void Engine::Impl::takes_long(const ProbeTarget& target, const std::string& phase) {
    ledger.narrow();
    if (slow)
        slow(target.api + (target.driver.empty() ? "" : " " + target.driver) +
             " has not answered yet" + (phase.empty() ? "" : ", in phase " + phase));
}

void Engine::Impl::ask_aside(const ProbeTarget& target, LiveMemoryReader::Probed probed) {
    supervisor.start(target, [this, target, done = std::move(probed)](const ProbeResult& probe) {
        ledger.heard_aside(target, probe);
        done(probe);
    });
}

std::vector<ProbeTarget> Engine::Impl::askable() const {
    auto targets = search.targets;
    std::erase_if(targets, [this](const ProbeTarget& target) {
        return ledger.instead_of(target).has_value();
    });
    return targets;
}

bool Engine::Impl::is_fresh(const ProbeTarget& target) const {
    const auto* known = results.find(target);
    if (!known || !known->at)
        return false;
    // An answer of the future is one from before the clock was set back.
    const auto now = clock.wall();
    return *known->at <= now && now - options.trusts_cache_for < *known->at;
}

void Engine::Impl::start_what_is_due() {
    quiet_start.reset();
    start_probes([this](const ProbeTarget& target) { return !is_fresh(target); }, false);
}

bool Engine::Impl::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

/// Asks once more when the machine has changed since `target` was asked, or when that went badly
/// for the first time.
bool Engine::Impl::asks_again(const ProbeTarget& target, const ProbeResult& probe) {
    const bool is_outdated = outdated.erase(target) > 0;
    const bool is_unsure = ledger.asks_again(target, probe);
    if (is_outdated)
        return asks_once_more(target);
    if (!is_unsure || !may_be_asked_again(target))
        return false;
    ask(target);
    return true;
}

/// While the machine goes to sleep nothing is: it is owed then.
bool Engine::Impl::may_be_asked_again(const ProbeTarget& target) {
    if (!offers(target) || sleeper_woken_by(target, machine))
        return false;
    if (asleep)
        owed.insert(target);
    return !asleep;
}

bool Engine::Impl::asks_once_more(const ProbeTarget& target) {
    if (!may_be_asked_again(target) || ledger.instead_of(target))
        return false;
    ledger.begin({target});
    ask(target);
    return true;
}

void Engine::Impl::finished(const ProbeTarget& target, ProbeResult probe) {
    if (asks_again(target, probe))
        return;
    if (offers(target)) {  // a driver that was uninstalled meanwhile has no say
        auto verdict = stability.check(std::move(probe), results.find(target));
        results.keep(std::move(verdict.accepted));
        if (verdict.ask_again && asks_once_more(target))
            return;
    }
    if (ledger.instead_of(target))
        owed.insert(target);
    round.finish(target);
    if (!round.running())
        end_round();
    else if (!gathering)
        gathering = loop.after(kGather, [this] { publish(); });
}

void Engine::Impl::end_round() {
    from_cache = false;
    has_heard_all = true;
    ledger.settle(trials.running());
    publish();
    save_cache();
    for (const auto& done : round.end())
        done();
    verify_in_the_background();
}

void Engine::Impl::settle() {
    burst.event(loop.now());
    if (!settling)
        look_when_due();
}

/// Waits anew where more has come while it waited: a timer for each event would cost more than the
/// events.
void Engine::Impl::look_when_due() {
    settling.reset();
    const auto due = burst.due();
    if (!due)
        return;
    const auto left = std::max(*due - loop.now(), Duration::zero());
    settling = loop.after(left, [this] {
        if (burst.due() > loop.now())
            look_when_due();
        else
            settled();
    });
}

void Engine::Impl::wake_up() {
    if (!asleep)
        return;
    asleep.reset();
    woke_at = clock.monotonic();
    (void)rescan();
    start_probes([this](const ProbeTarget& target) { return owed.contains(target); }, false);
    start_trials();
    publish();
    settle();
}

void Engine::Impl::settled() {
    settling.reset();
    burst.looked();
    if (rescan())
        start_all_probes();
    publish();  // also when only others' leave to use a node has changed
}

void Engine::Impl::watch_hardware() {
    if (is_replay() || !options.watch_hardware)
        return;
    auto created = HardwareMonitor::create(loop, [this](const HardwareEvent&) { settle(); });
    if (created) {
        monitor = std::move(created).value();
        return;
    }
    Value detail;
    detail["problem"] = scrubbed(created.error().text);
    notes.push_back(Reason{.code = "no-hotplug", .detail = detail});
}

}  // namespace gpuprobe
