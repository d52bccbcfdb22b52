// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/context.h"
#include "engine/publisher.h"

namespace gpuprobe::engine {

/// Where a target stands that can be queried.
enum class QueryState {
    Idle,           ///< has its result, or has never been wanted
    Deferred,       ///< has to wait: a GPU or the machine sleeps, or the driver is in quarantine
    Asked,          ///< a worker runs
    AskedDeferred,  ///< a worker runs, and the target is to be asked again at a later time
    Outdated,       ///< a worker runs that started before the machine changed
};
enum class QueryEvent {
    Ask,            ///< a worker starts
    Defer,          ///< the target is wanted, but has to wait
    MachineChange,  ///< what a running worker reports may be out of date
    End,            ///< the worker has ended and is not started again
};

/// The one place where states change.
[[nodiscard]] QueryState state_after(QueryState state, QueryEvent event);
[[nodiscard]] bool is_running(QueryState state);

/// Asks drivers what devices they have: which targets are due, which run, which have to wait.
///
/// Queries that run at the same time form a round. Whoever wants results waits for its end.
class Queries {
public:
    using Chosen = std::function<bool(const ProbeTarget&)>;

    /// `all_answered` is called each time that no answer is awaited any more although processes
    /// have to end, `round_ended` each time that the last of them has.
    Queries(const EngineContext& context,
            Publisher& publisher,
            std::function<void()> all_answered,
            std::function<void()> round_ended);

    /// How much earlier than the others those are asked who name the GPUs, where nothing is known
    /// of them: until they have answered, but no longer. In the kernel one driver waits for
    /// another: beside CUDA, Vulkan and OpenCL, an H200's NVML took 200 ms in place of 20.
    static constexpr Duration kHeadStart = std::chrono::milliseconds{50};

    /// Asks the chosen targets that do not run yet. Without `allow_wake` those that would wake a
    /// GPU are deferred. All are deferred while the machine goes to sleep.
    void start(const Chosen& chosen, bool allow_wake);
    void start_all() {
        start([](const ProbeTarget&) { return true; }, false);
    }
    /// Asks the first of all, where nothing speaks against any: it starts beside the scan, for
    /// which ProbedMachine::scan_functions() is enough. To be followed by start_due().
    void start_ahead();
    /// Asks those without a cached result that is young enough.
    void start_due();
    void start_deferred();
    /// Asks the deferred ones that can be asked by now. Does nothing if it was called less than
    /// kLooksAgainAfter ago.
    void catch_up();
    static constexpr Duration kLooksAgainAfter = std::chrono::seconds{2};
    /// Lets the next catch_up() look at once.
    void may_catch_up() { caught_up_at_.reset(); }

    /// Results of queries that run now are out of date.
    void machine_changed();
    /// Takes results of an earlier process.
    void take_cached(std::vector<ProbeResult> probes);
    /// The targets that are not in quarantine.
    [[nodiscard]] std::vector<ProbeTarget> askable() const;

    [[nodiscard]] bool running() const { return begun_ != ended_; }
    /// Whether an answer is awaited that is not there yet; a process that only has to end is none.
    [[nodiscard]] bool asking() const { return begun_ - ended_ != settled_.size(); }
    [[nodiscard]] std::set<ProbeTarget> running_targets() const;
    /// Joins the current round, or the next one.
    void wait(ProbeWaiter waiter) { waiters_.push_back(std::move(waiter)); }
    /// Ends the round and returns who has waited for it.
    std::vector<ProbeWaiter> end_round();

private:
    [[nodiscard]] QueryState state_of(const ProbeTarget& target) const;
    void note(const ProbeTarget& target, QueryEvent event);
    [[nodiscard]] std::set<ProbeTarget> deferred() const;
    [[nodiscard]] bool is_fresh(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<ProbeResult> obstacle(const ProbeTarget& target,
                                                      bool allow_wake) const;
    void ask_all(std::vector<ProbeTarget> due);
    void end_head_start();
    void ask_next_held();
    void ask(const ProbeTarget& target);
    void heard(const ProbeTarget& target);
    void answered(const ProbeTarget& target, ProbeResult probe, bool is_whole);
    void settle(const ProbeTarget& target);
    void ask_next_suspect();
    [[nodiscard]] bool may_be_asked_again(const ProbeTarget& target);
    [[nodiscard]] bool ask_once_more(const ProbeTarget& target);
    [[nodiscard]] bool ask_again_after(const ProbeTarget& target, const ProbeResult& probe);
    void ended(const ProbeTarget& target, ProbeResult probe);
    void leave_round(const ProbeTarget& target);

    EngineContext context_;
    Publisher& publisher_;
    std::function<void()> all_answered_;
    std::function<void()> round_ended_;
    std::map<ProbeTarget, QueryState> states_ = {};  ///< those that are not Idle
    StabilityCheck stability_ = {};
    std::optional<MonotonicTime> caught_up_at_ = {};
    std::deque<ProbeTarget> suspects_ = {};  ///< of this round, to be asked one by one
    /// Whose answers name the GPUs and are still awaited, and who waits for that.
    std::set<ProbeTarget> naming_ = {};
    std::deque<ProbeTarget> held_ = {};
    EventHandle head_start_ = {};
    std::set<ProbeTarget> early_ = {};    ///< whose result is there, and whose worker has not ended
    std::set<ProbeTarget> settled_ = {};  ///< those of them whose result will stand
    std::size_t begun_ = 0;               ///< in this round
    std::size_t ended_ = 0;
    std::vector<ProbeWaiter> waiters_ = {};
};

}  // namespace gpuprobe::engine
