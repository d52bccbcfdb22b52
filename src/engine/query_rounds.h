// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/units.h"
#include "engine/decision_service.h"
#include "engine/probe_targets.h"
#include "engine/probed_machine.h"
#include "engine/system_events.h"
#include "probe/supervisor.h"
#include "report/assemble.h"
#include "report/report.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

struct EngineOptions;  // engine.h

/// The callbacks of a caller that waits for probes. Each callback may be empty.
struct ProbeWaiter {
    std::function<void(double)> progress = {};  ///< receives the fraction of probes that have ended
    std::function<void()> done = {};            ///< called once, when all probes have ended
};

/// References that the parts of the engine share. The engine owns the referenced objects.
struct EngineContext {
    EventLoop& loop;
    const Clock& clock;
    const EngineOptions& options;
    ProbedMachine& machine;
    ProbeLedger& ledger;
    const SystemSleep& sleep;
    Supervisor& supervisor;
};

/// Assembles the report, notifies listeners of each new generation, and stores results in the cache
/// for the next start.
class Publisher {
public:
    /// Results that arrive within this time are published together. Callers wait for the first
    /// results of a round, so these results are published early; each later publication waits twice
    /// as long as the previous one, up to kGather.
    static constexpr Duration kFirstGather = std::chrono::milliseconds{5};
    static constexpr Duration kGather = std::chrono::milliseconds{50};

    /// `is_probing` returns whether the report should have the state Probing.
    Publisher(const EngineContext& context,
              const DecisionService& decisions,
              std::function<bool()> is_probing);

    [[nodiscard]] const Report& report() const { return report_; }
    /// The report as one line of JSON. The line is created once for each report.
    [[nodiscard]] const std::string& json() const;
    /// Frees the memory of json(), which creates the line again when it is called.
    void forget_json() {
        json_.clear();
        json_.shrink_to_fit();
    }
    /// Adds a callback that is called after each new generation.
    void on_change(std::function<void()> changed) { listeners_.push_back(std::move(changed)); }
    /// Adds a note to all later reports.
    void add_note(Reason note) { notes_.push_back(std::move(note)); }

    /// Assembles the report again. The new report is a new generation if its stable part has
    /// changed, or if `is_new` is true, because decisions may change even if the report does not.
    void publish(bool is_new = false);
    /// Calls publish() within kGather, or sooner at the beginning of a round.
    void publish_soon();

    /// Whether drivers may report different results than at the last call of this function.
    [[nodiscard]] bool has_new_fingerprint();
    /// The results that an earlier process cached for this machine; nullopt if there is no usable
    /// cache, or if the first round of queries has ended.
    [[nodiscard]] std::optional<store::CachedProbes> load_cache();
    /// Writes the cache. Errors are ignored: without the cache, the next start only has to probe
    /// again.
    void save_cache(const store::CachedProbes& probes) const;
    /// Called when all drivers have been probed; from then on, the report does not depend on the
    /// cache.
    void round_ended() {
        basis_ = Basis::Drivers;
        gather_ = kFirstGather;
    }
    [[nodiscard]] bool is_from_cache() const { return basis_ == Basis::Cache; }

private:
    /// The source of the results. The source changes only to a later enumerator.
    enum class Basis { Nothing, Cache, Drivers };
    [[nodiscard]] ReportContext report_context() const;
    [[nodiscard]] Report assembled() const;
    [[nodiscard]] std::vector<std::string> default_choice(const Report& report, WallTime now) const;

    EngineContext context_;
    const DecisionService& decisions_;
    std::optional<store::ProbeCache> cache_ = {};
    std::function<bool()> is_probing_;
    Basis basis_ = Basis::Nothing;
    std::string fingerprint_ = {};
    Report report_ = {};
    mutable std::string json_ = {};  ///< the report as JSON; empty if not created yet
    std::vector<Reason> notes_ = {};
    std::vector<std::function<void()>> listeners_ = {};
    EventHandle gathering_ = {};
    Duration gather_ = kFirstGather;  ///< the time that the next publish_soon() waits
};

/// The state of a target that can be queried.
enum class QueryState {
    Idle,             ///< the target has its result, or was never requested
    Deferred,         ///< the target waits: a GPU or the machine sleeps, or there is a quarantine
    Running,          ///< a worker is running
    RunningDeferred,  ///< a worker is running, and the target must be queried again
    Outdated,         ///< a worker that started before the machine changed is running
};
enum class QueryEvent {
    Start,          ///< a worker starts
    Defer,          ///< the target was requested but has to wait
    MachineChange,  ///< the result of a running worker may be outdated
    End,            ///< the worker has ended and isn't started again
};

/// The state after an event. All transitions are in this function.
[[nodiscard]] QueryState state_after(QueryState state, QueryEvent event);
[[nodiscard]] bool is_running(QueryState state);

/// Runs queries, which ask drivers for their devices. Tracks which targets are due, which are
/// running and which have to wait.
///
/// Queries that run at the same time form a round. Callers that need results wait for the end of
/// the round.
class Queries {
public:
    using Chosen = std::function<bool(const ProbeTarget&)>;

    /// `all_answered` is called each time the last missing answer of a round has arrived while
    /// workers still run; `round_ended` is called each time the last worker of a round has ended.
    Queries(const EngineContext& context,
            Publisher& publisher,
            std::function<void()> all_answered,
            std::function<void()> round_ended);

    /// The longest head start of the targets that name the GPUs and have no result yet: the other
    /// targets start when these targets have answered, or when this time has passed. Drivers block
    /// each other in the kernel: on an H200, NVML took 200 ms when CUDA, Vulkan and OpenCL ran at
    /// the same time, and 20 ms when no other driver ran.
    static constexpr Duration kHeadStart = std::chrono::milliseconds{50};

    /// Queries the chosen targets that aren't running yet. Defers targets that would wake a GPU,
    /// unless `allow_wake` is true. While the machine is going to sleep, defers all targets.
    void start(const Chosen& chosen, bool allow_wake);
    void start_all() {
        start([](const ProbeTarget&) { return true; }, false);
    }
    /// Starts the first query while the machine is scanned, unless a driver is a suspect or in
    /// quarantine. Needs only ProbedMachine::scan_functions(). Call start_due() afterwards.
    void start_ahead();
    /// Queries the targets whose cached result is missing or too old.
    void start_due();
    /// Queries the deferred targets.
    void start_deferred();
    /// Queries the deferred targets that can be queried now. Does nothing if the last call was less
    /// than kLooksAgainAfter ago.
    void catch_up();
    static constexpr Duration kLooksAgainAfter = std::chrono::seconds{2};
    /// Lets the next catch_up() run immediately.
    void may_catch_up() { caught_up_at_.reset(); }

    /// Marks the queries that are running now as outdated.
    void machine_changed();
    /// Adds results from an earlier process.
    void take_cached(std::vector<ProbeResult> probes);
    /// The targets that aren't in quarantine.
    [[nodiscard]] std::vector<ProbeTarget> askable() const;

    [[nodiscard]] bool running() const { return begun_ != ended_; }
    /// Whether an answer is still missing. A worker that has sent its answer counts as finished,
    /// even if it has not ended.
    [[nodiscard]] bool asking() const { return begun_ - ended_ != settled_.size(); }
    [[nodiscard]] std::set<ProbeTarget> running_targets() const;
    /// Lets `waiter` wait for the end of the current round, or of the next round if no round is
    /// running.
    void wait(ProbeWaiter waiter) { waiters_.push_back(std::move(waiter)); }
    /// Ends the round and returns the callers that waited for it.
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
    std::map<ProbeTarget, QueryState> states_ = {};  ///< states of all targets that are not Idle
    StabilityCheck stability_ = {};
    std::optional<MonotonicTime> caught_up_at_ = {};
    std::deque<ProbeTarget> suspects_ = {};  ///< suspects of this round, run one at a time
    /// Targets that name the GPUs and have not answered yet; the targets in held_ start after them.
    std::set<ProbeTarget> naming_ = {};
    std::deque<ProbeTarget> held_ = {};
    EventHandle head_start_ = {};
    std::set<ProbeTarget> early_ = {};    ///< targets that have answered but not ended
    std::set<ProbeTarget> settled_ = {};  ///< early targets whose answer is final
    std::size_t begun_ = 0;               ///< number of queries that began in this round
    std::size_t ended_ = 0;               ///< number of queries of this round that have ended
    std::vector<ProbeWaiter> waiters_ = {};
};

}  // namespace gpuprobe::engine
