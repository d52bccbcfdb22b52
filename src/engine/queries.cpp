// SPDX-License-Identifier: Apache-2.0
#include "engine/queries.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "engine/targets.h"

namespace gpuprobe::engine {

QueryState state_after(QueryState state, QueryEvent event) {
    using enum QueryState;
    switch (event) {
        case QueryEvent::Ask:
            return Asked;
        case QueryEvent::Defer:
            return state == Idle ? Deferred : state == Asked ? AskedDeferred : state;
        case QueryEvent::MachineChange:
            return is_running(state) ? Outdated : state;
        case QueryEvent::End:
            return state == Idle || state == Asked ? Idle : Deferred;
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
        if (state == QueryState::Deferred || state == QueryState::AskedDeferred)
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

/// The result that a target gets instead of being asked now.
std::optional<ProbeResult> Queries::obstacle(const ProbeTarget& target, bool allow_wake) const {
    if (!is_running(state_of(target)))
        if (auto held = context_.ledger.instead_of(target))
            return held;
    const auto sleeper = sleeper_woken_by(target, context_.machine.hardware);
    if (sleeper && !allow_wake)
        return skipped_asleep(target, *sleeper);
    return std::nullopt;
}

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
            note(target, QueryEvent::MachineChange);  // its answer is older than this question
        }
    }
    begun_ += due.size();
    // clang 14 takes no std::ranges::subrange of libstdc++ 12, which std::ranges would return.
    const auto suspects = std::stable_partition(
        due.begin(), due.end(),
        [this](const ProbeTarget& target) { return !context_.ledger.is_suspect(target); });
    for (auto target = suspects; target != due.end(); ++target) {
        note(*target, QueryEvent::Ask);
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

/// In their order.
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
    // One that can't be started is heard before the next is asked, so all are known by then.
    naming_.insert(due.begin(), due.end());
    for (const auto& target : later)
        note(target, QueryEvent::Ask);
    std::ranges::move(later, std::back_inserter(held_));
    head_start_ = context_.loop.after(kHeadStart, [this] { end_head_start(); });
    for (const auto& target : due)
        ask(target);
}

void Queries::end_head_start() {
    naming_.clear();
    ask_next_held();
}

/// One at a time: whoever wants an answer meanwhile waits until one has been started, not all. A
/// timer would come before whoever waits.
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

/// The first useful report comes before the other drivers are started.
void Queries::heard(const ProbeTarget& target) {
    if (naming_.erase(target) == 0 || !naming_.empty())
        return;
    publisher_.publish();
    head_start_ = context_.loop.defer([this] { ask_next_held(); });
}

/// Once nothing else runs.
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
        context_.ledger.confirm(target);  // begun before the machine was known
    start([this](const ProbeTarget& target) { return !is_fresh(target); }, false);
}

void Queries::start_deferred() {
    start([waiting = deferred()](const ProbeTarget& target) { return waiting.contains(target); },
          false);
}

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
    // A result from the future is from before the clock was set back.
    const auto now = context_.clock.wall();
    return *known->at <= now && now - context_.options.trusts_cache_for < *known->at;
}

void Queries::ask(const ProbeTarget& target) {
    note(target, QueryEvent::Ask);
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

/// While the machine goes to sleep, the target is deferred instead.
bool Queries::may_be_asked_again(const ProbeTarget& target) {
    const auto& machine = context_.machine;
    if (!machine.offers(target) || sleeper_woken_by(target, machine.hardware))
        return false;
    if (context_.sleep.is_near())
        note(target, QueryEvent::Defer);
    return !context_.sleep.is_near();
}

bool Queries::ask_once_more(const ProbeTarget& target) {
    if (!may_be_asked_again(target) || context_.ledger.instead_of(target))
        return false;
    context_.ledger.begin({target});
    ask(target);
    return true;
}

/// Asks again if the machine has changed since the target was asked, or if the probe went wrong for
/// the first time.
bool Queries::ask_again_after(const ProbeTarget& target, const ProbeResult& probe) {
    const bool went_wrong = context_.ledger.should_retry(target, probe);
    if (state_of(target) == QueryState::Outdated)
        return ask_once_more(target);
    const bool is_too_late =
        context_.options.limits.is_hurried && probe.outcome == Outcome::TimedOut;
    if (!went_wrong || is_too_late || !may_be_asked_again(target))
        return false;
    ask(target);
    return true;
}

void Queries::settle(const ProbeTarget& target) {
    settled_.insert(target);
    context_.ledger.answered(target);
}

/// What is not known yet is believed before the worker has ended; else how it ends may count.
void Queries::answered(const ProbeTarget& target, ProbeResult probe, bool is_whole) {
    auto& machine = context_.machine;
    if (machine.offers(target) && (early_.contains(target) || !machine.results.find(target))) {
        if (is_whole && probe.outcome == Outcome::Answered && state_of(target) == QueryState::Asked)
            settle(target);
        machine.results.keep(std::move(probe));
        early_.insert(target);
        publisher_.publish_soon();
    }
    heard(target);
    if (running() && !asking())
        all_answered_();
}

void Queries::ended(const ProbeTarget& target, ProbeResult probe) {
    settled_.erase(target);
    const bool was_early = early_.erase(target) > 0;
    if (ask_again_after(target, probe))
        return;
    if (was_early)
        context_.machine.results.forget(target);
    auto& machine = context_.machine;
    if (machine.offers(target)) {  // the driver may have been uninstalled meanwhile
        auto verdict = stability_.check(std::move(probe), machine.results.find(target));
        machine.results.keep(std::move(verdict.accepted));
        if (verdict.ask_again && ask_once_more(target))
            return;
    }
    if (context_.ledger.instead_of(target))
        note(target, QueryEvent::Defer);
    leave_round(target);
    heard(target);
}

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
