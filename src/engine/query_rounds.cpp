// SPDX-License-Identifier: Apache-2.0
#include "engine/query_rounds.h"

#include <algorithm>
#include <utility>

#include "base/accounts.h"
#include "base/value.h"
#include "engine/engine.h"
#include "engine/probe_targets.h"
#include "knowledge/library.h"
#include "policy/gpu_selection.h"
#include "report/access.h"
#include "report/outcome.h"

namespace gpuprobe::engine {

Publisher::Publisher(const EngineContext& context,
                     const DecisionService& decisions,
                     std::function<bool()> is_probing)
    : context_{context}, decisions_{decisions}, is_probing_{std::move(is_probing)} {
    if (context.options.cache_file)
        cache_.emplace(*context.options.cache_file);
}

/// The JSON is created on first use, because many reports are replaced before a caller needs the
/// JSON.
const std::string& Publisher::json() const {
    if (json_.empty())
        json_ = json_line(to_value(report_));
    return json_;
}

/// The report about a capture has the time of the capture, so that every replay gives the same
/// report.
ReportContext Publisher::report_context() const {
    const auto& machine = context_.machine;
    ReportContext context{.generation = report_.generation,
                          .state = is_probing_()                      ? ReportState::Probing
                                   : machine.results.any_went_badly() ? ReportState::Degraded
                                                                      : ReportState::Ready,
                          .source = is_from_cache() ? ReportSource::Cache : ReportSource::Live,
                          .now = context_.clock.wall()};
    if (machine.is_replay()) {
        context.source = ReportSource::Replay;
        context.now = machine.source.recorded_at.value_or(WallTime{});
    }
    return context;
}

/// Assembles the report from the hardware and the results, then adds quarantines, notes and the
/// order of the GPUs.
Report Publisher::assembled() const {
    const auto& machine = context_.machine;
    const auto context = report_context();
    auto report = assemble(machine.hardware, machine.results.all(), context);
    for (auto& [api, runtime] : report.runtimes)
        for (auto& driver : runtime.drivers)
            if (const auto named = machine.search.variables.find(driver.manifest);
                named != machine.search.variables.end())
                driver.variable = named->second;
    if (machine.is_replay())
        report = as_recorded(std::move(report));
    if (machine.is_replay() && !machine.source.recorded_at)
        report.created.reset();
    report.quarantine = context_.ledger.held();
    for (const auto& more : {decisions_.notes(), notes_, context_.ledger.notes(),
                             decisions_.feedback().override_notes()})
        report.notes.insert(report.notes.end(), more.begin(), more.end());
    for (const auto& document : knowledge::Library::current()->expired(context.now))
        report.notes.push_back(
            stale_document(document.name, document.path, document.issued, document.expired));
    if (report.gpus.size() > 1)
        put_default_first(report, default_choice(report, context.now));
    return report;
}

/// The GPUs that the application "default" gets if it has no further requirements. The report lists
/// the GPUs of the application "default" first.
std::vector<std::string> Publisher::default_choice(const Report& report, WallTime now) const {
    const auto decision = decisions_.select(
        "default", Value{}, {.uid = kRoot, .machine = report, .seen = report, .now = now});
    return decision ? decision->gpus : std::vector<std::string>{};
}

void Publisher::publish(bool is_new) {
    gathering_.reset();
    // The generation counts only changes of the stable part, but the report is always replaced.
    auto next = assembled();
    // The number of GPUs is compared first, because stable_part() copies a report.
    is_new = is_new || next.gpus.size() != report_.gpus.size() ||
             stable_part(next) != stable_part(report_);
    if (is_new)
        ++next.generation;
    report_ = std::move(next);
    json_.clear();
    if (!is_new)
        return;
    for (const auto& listener : listeners_)
        listener();
}

/// Results that arrive while the timer is running belong to the same generation.
void Publisher::publish_soon() {
    if (gathering_)
        return;
    gathering_ = context_.loop.after(gather_, [this] { publish(); });
    gather_ = std::min(2 * gather_, kGather);
}

bool Publisher::has_new_fingerprint() {
    auto fingerprint = context_.machine.fingerprint();
    return std::exchange(fingerprint_, fingerprint) != fingerprint;
}

/// After the first round, the cache contains nothing that the drivers have not reported. Until the
/// first round has ended, the cache is tried again after each change, because nodes may still
/// appear one by one during boot; the cached results are valid once the machine is complete.
std::optional<store::CachedProbes> Publisher::load_cache() {
    if (!cache_ || context_.machine.is_replay() || basis_ == Basis::Drivers)
        return std::nullopt;
    auto cached = cache_->load(fingerprint_);
    if (!cached)
        return std::nullopt;  // continue as if there were no cache
    if (!cached->queries.empty())
        basis_ = Basis::Cache;
    return std::move(cached).value();
}

void Publisher::save_cache(const store::CachedProbes& probes) const {
    if (cache_ && !context_.machine.is_replay())
        (void)cache_->save(fingerprint_, probes);
}

QueryState state_after(QueryState state, QueryEvent event) {
    using enum QueryState;
    switch (event) {
        case QueryEvent::Start:
            return Running;
        case QueryEvent::Defer:
            return state == Idle ? Deferred : state == Running ? RunningDeferred : state;
        case QueryEvent::MachineChange:
            return is_running(state) ? Outdated : state;
        case QueryEvent::End:
            // A deferred query stays deferred until the end of the round. If an outdated query
            // could not be repeated, it is deferred.
            return state == Idle || state == Running ? Idle : Deferred;
    }
    return state;
}

bool is_running(QueryState state) {
    return state != QueryState::Idle && state != QueryState::Deferred;
}

Queries::Queries(const EngineContext& context,
                 Publisher& publisher,
                 std::function<void()> all_answered,
                 std::function<void()> round_ended)
    : context_{context},
      publisher_{publisher},
      all_answered_{std::move(all_answered)},
      round_ended_{std::move(round_ended)} {}

QueryState Queries::state_of(const ProbeTarget& target) const {
    const auto found = states_.find(target);
    return found == states_.end() ? QueryState::Idle : found->second;
}

void Queries::note(const ProbeTarget& target, QueryEvent event) {
    const auto state = state_after(state_of(target), event);
    if (state == QueryState::Idle)
        states_.erase(target);
    else
        states_.insert_or_assign(target, state);
}

std::set<ProbeTarget> Queries::deferred() const {
    std::set<ProbeTarget> deferred;
    for (const auto& [target, state] : states_)
        if (state == QueryState::Deferred || state == QueryState::RunningDeferred)
            deferred.insert(target);
    return deferred;
}

std::set<ProbeTarget> Queries::running_targets() const {
    std::set<ProbeTarget> running;
    for (const auto& [target, state] : states_)
        if (is_running(state))
            running.insert(target);
    return running;
}

/// The result that a target gets if it may not be queried now; nullopt if it may be queried.
std::optional<ProbeResult> Queries::obstacle(const ProbeTarget& target, bool allow_wake) const {
    if (!is_running(state_of(target)))
        if (auto held = context_.ledger.instead_of(target))
            return held;
    const auto sleeper = sleeper_woken_by(target, context_.machine.hardware);
    if (sleeper && !allow_wake)
        return skipped_asleep(target, *sleeper);
    return std::nullopt;
}

/// There are three phases: separate the chosen targets into deferred and due targets, set suspects
/// aside, then start the other targets in the order of sort_for_start().
void Queries::start(const Chosen& chosen, bool allow_wake) {
    auto& machine = context_.machine;
    if (machine.is_replay())
        return;
    machine.refresh_power();  // a GPU may have fallen asleep since the scan
    std::vector<ProbeTarget> due;
    for (const auto& target : machine.search.targets) {
        if (!chosen(target))
            continue;
        if (context_.sleep.is_near()) {
            note(target, QueryEvent::Defer);
        } else if (auto instead = obstacle(target, allow_wake)) {
            machine.results.keep(std::move(*instead));
            note(target, QueryEvent::Defer);
        } else if (!is_running(state_of(target))) {
            due.push_back(target);
        } else if (settled_.erase(target) > 0) {
            note(target, QueryEvent::MachineChange);  // the answer is older than this request
        }
    }
    begun_ += due.size();
    // Not std::ranges, because clang 14 does not compile std::ranges::subrange of libstdc++ 12.
    const auto suspects = std::stable_partition(
        due.begin(), due.end(),
        [this](const ProbeTarget& target) { return !context_.ledger.is_suspect(target); });
    // From now on, suspects count as running, so that they aren't started twice.
    for (auto target = suspects; target != due.end(); ++target) {
        note(*target, QueryEvent::Start);
        suspects_.push_back(*target);
    }
    due.erase(suspects, due.end());
    sort_for_start(due, machine.hardware, machine.results);
    context_.ledger.begin(due);
    ask_all(std::move(due));
    ask_next_suspect();
}

void Queries::start_ahead() {
    const auto& machine = context_.machine;
    auto targets = machine.search.targets;
    sort_for_start(targets, machine.hardware, machine.results);
    // At most one worker is started ahead: the worker for the first target that names GPUs.
    const auto first = std::ranges::find_if(targets, [&machine](const ProbeTarget& target) {
        return names_gpus(target, machine.hardware);
    });
    if (first == targets.end() || !context_.ledger.is_clean() || obstacle(*first, false))
        return;
    ++begun_;
    naming_.insert(*first);
    context_.ledger.begin({*first});
    ask(*first);
}

/// Starts the targets in their order. Targets that name the GPUs and have no result yet start
/// first; if there are such targets, the other targets wait in held_.
void Queries::ask_all(std::vector<ProbeTarget> due) {
    const auto& machine = context_.machine;
    const auto others =
        std::stable_partition(due.begin(), due.end(), [&machine](const ProbeTarget& target) {
            return names_gpus(target, machine.hardware) && !machine.results.find(target);
        });
    std::vector<ProbeTarget> later{others, due.end()};
    due.erase(others, due.end());
    if (due.empty() && naming_.empty()) {
        std::ranges::for_each(later, [this](const ProbeTarget& target) { ask(target); });
        return;
    }
    // Fill naming_ before the first ask(), because a target that can't be started reports this
    // within ask(), and heard() has to wait for all naming targets.
    naming_.insert(due.begin(), due.end());
    for (const auto& target : later)
        note(target, QueryEvent::Start);
    std::ranges::move(later, std::back_inserter(held_));
    head_start_ = context_.loop.after(kHeadStart, [this] { end_head_start(); });
    for (const auto& target : due)
        ask(target);
}

void Queries::end_head_start() {
    naming_.clear();
    ask_next_held();
}

/// Starts one held target and schedules the next. Callers whose requests arrive in the meantime
/// wait only for one start, not for all starts. defer() lets these requests be handled before the
/// next start; a timer would not.
void Queries::ask_next_held() {
    head_start_.reset();
    if (held_.empty())
        return;
    const auto target = std::move(held_.front());
    held_.pop_front();
    if (!held_.empty())
        head_start_ = context_.loop.defer([this] { ask_next_held(); });
    ask(target);
}

/// Called with each answer. After the last target that names GPUs has answered, publishes the first
/// useful report and then starts the other targets.
void Queries::heard(const ProbeTarget& target) {
    if (naming_.erase(target) == 0 || !naming_.empty())
        return;
    publisher_.publish();
    head_start_ = context_.loop.defer([this] { ask_next_held(); });
}

/// Starts the next suspect if no other probe is running.
void Queries::ask_next_suspect() {
    if (suspects_.empty() || begun_ - ended_ != suspects_.size())
        return;
    const auto target = std::move(suspects_.front());
    suspects_.pop_front();
    context_.ledger.begin({target});
    ask(target);
}

void Queries::start_due() {
    for (const auto& target : running_targets())
        context_.ledger.confirm(target);  // start_ahead() recorded this probe before the scan
    start([this](const ProbeTarget& target) { return !is_fresh(target); }, false);
}

void Queries::start_deferred() {
    start([waiting = deferred()](const ProbeTarget& target) { return waiting.contains(target); },
          false);
}

/// Publishes if a target was started, so that the report shows that the target is being probed.
void Queries::catch_up() {
    const auto now = context_.clock.monotonic();
    const auto before = deferred();
    if (before.empty() || (caught_up_at_ && now - *caught_up_at_ < kLooksAgainAfter))
        return;
    caught_up_at_ = now;
    start(
        [&](const ProbeTarget& target) {
            return before.contains(target) && !context_.ledger.instead_of(target);
        },
        false);
    if (deferred() != before)
        publisher_.publish();
}

bool Queries::is_fresh(const ProbeTarget& target) const {
    const auto* known = context_.machine.results.find(target);
    if (!known || !known->at)
        return false;
    // A time in the future means that the result is from before the clock was set back.
    const auto now = context_.clock.wall();
    return *known->at <= now && now - context_.options.trusts_cache_for < *known->at;
}

/// Starts a worker. Drivers get twice the time if a GPU has to wake, the machine just woke, or this
/// is the first probe since boot.
void Queries::ask(const ProbeTarget& target) {
    note(target, QueryEvent::Start);
    const bool is_slow = sleeper_woken_by(target, context_.machine.hardware) ||
                         context_.sleep.state() == SystemSleep::State::JustWoke ||
                         context_.ledger.is_cold();
    context_.supervisor.start(
        target, [this, target](ProbeResult probe) { ended(target, std::move(probe)); },
        is_slow ? Patience::Double : Patience::Usual,
        [this, target](ProbeResult probe, bool is_whole) {
            answered(target, std::move(probe), is_whole);
        });
}

void Queries::machine_changed() {
    for (const auto& target : running_targets())
        note(target, QueryEvent::MachineChange);
    settled_.clear();
    stability_.machine_changed();
}

/// The next result of each driver is compared with the driver's cached result. Results of drivers
/// that no longer exist are dropped.
void Queries::take_cached(std::vector<ProbeResult> probes) {
    auto& machine = context_.machine;
    for (auto& probe : probes) {
        stability_.begin_with(probe);
        machine.results.keep(std::move(probe));
    }
    machine.results.keep_only(machine.search);
}

std::vector<ProbeTarget> Queries::askable() const {
    auto targets = context_.machine.search.targets;
    std::erase_if(targets, [this](const ProbeTarget& target) {
        return context_.ledger.instead_of(target).has_value();
    });
    return targets;
}

/// Whether a target may be probed again immediately. While the machine is going to sleep, the
/// target is deferred instead of probed.
bool Queries::may_be_asked_again(const ProbeTarget& target) {
    const auto& machine = context_.machine;
    if (!machine.offers(target) || sleeper_woken_by(target, machine.hardware))
        return false;
    if (context_.sleep.is_near())
        note(target, QueryEvent::Defer);
    return !context_.sleep.is_near();
}

/// Queries the target again within this round. Returns whether a worker was started.
bool Queries::ask_once_more(const ProbeTarget& target) {
    if (!may_be_asked_again(target) || context_.ledger.instead_of(target))
        return false;
    context_.ledger.begin({target});
    ask(target);
    return true;
}

/// Queries the driver again if the machine has changed since the query began, or if the driver did
/// harm for the first time. Returns whether a worker was started.
bool Queries::ask_again_after(const ProbeTarget& target, const ProbeResult& probe) {
    const bool went_wrong = context_.ledger.should_retry(target, probe);
    if (state_of(target) == QueryState::Outdated)
        return ask_once_more(target);
    // A program that needs the result quickly can't wait for a second timeout.
    const bool is_too_late =
        context_.options.limits.is_hurried && probe.outcome == Outcome::TimedOut;
    if (!went_wrong || is_too_late || !may_be_asked_again(target))
        return false;
    ask(target);
    return true;
}

/// Called when the answer is final: the driver did no harm, and callers need not wait for the
/// worker's exit.
void Queries::settle(const ProbeTarget& target) {
    settled_.insert(target);
    context_.ledger.answered(target);
}

/// Called when an answer arrives while its worker still runs. The first result of a driver is used
/// immediately. If there is an older result, the new result is used only after the worker has
/// ended, because the end of the worker may change the result.
void Queries::answered(const ProbeTarget& target, ProbeResult probe, bool is_whole) {
    auto& machine = context_.machine;
    if (machine.offers(target) && (early_.contains(target) || !machine.results.find(target))) {
        if (is_whole && probe.outcome == Outcome::Answered &&
            state_of(target) == QueryState::Running)
            settle(target);
        machine.results.keep(std::move(probe));
        early_.insert(target);
        publisher_.publish_soon();
    }
    heard(target);
    if (running() && !asking())
        all_answered_();
}

/// Called when a worker has ended: probes again if necessary, otherwise stores the result and
/// leaves the round.
void Queries::ended(const ProbeTarget& target, ProbeResult probe) {
    settled_.erase(target);
    // Treat the GPU as if it had been asleep before the worker was started, so that an earlier
    // answer is kept.
    const auto sleeper = fallen_asleep(target, probe);
    if (sleeper)
        probe = skipped_asleep(target, *sleeper);
    const bool was_early = early_.erase(target) > 0;
    if (ask_again_after(target, probe))
        return;
    // Forget the early result, so that keep() and the stability check treat this result as the
    // first result.
    if (was_early)
        context_.machine.results.forget(target);
    auto& machine = context_.machine;
    if (machine.offers(target)) {  // the driver may have been uninstalled in the meantime
        auto verdict = stability_.check(std::move(probe), machine.results.find(target));
        machine.results.keep(std::move(verdict.accepted));
        if (verdict.ask_again && ask_once_more(target))
            return;
    }
    if (sleeper || context_.ledger.instead_of(target))
        note(target, QueryEvent::Defer);
    leave_round(target);
    heard(target);
}

/// Reports the progress and, if this was the last query, ends the round.
void Queries::leave_round(const ProbeTarget& target) {
    note(target, QueryEvent::End);
    if (!context_.machine.offers(target))
        states_.erase(target);
    ++ended_;
    const auto share = static_cast<double>(ended_) / static_cast<double>(begun_);
    for (const auto& waiter : waiters_)
        if (waiter.progress)
            waiter.progress(share);
    if (!running())
        return round_ended_();
    ask_next_suspect();
    if (asking())
        publisher_.publish_soon();
    else
        all_answered_();
}

std::vector<ProbeWaiter> Queries::end_round() {
    begun_ = ended_ = 0;
    return std::exchange(waiters_, {});
}

}  // namespace gpuprobe::engine
