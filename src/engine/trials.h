// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/gpu_load.h"
#include "engine/publisher.h"
#include "engine/queries.h"
#include "engine/targets.h"
#include "store/probe_cache.h"

namespace gpuprobe::engine {

/// The targets that compute or wait for their turn, in the order in which they came, and who waits
/// for them. A measurement runs alone: two at a time would share memory, even if only the host's.
class TrialQueue {
public:
    /// Adds those that are not in it yet. `waiter` waits for all of `targets`.
    void add(const std::vector<ProbeTarget>& targets, ProbeWaiter waiter);
    /// Those whose turn has come; they count as running from now on.
    std::vector<ProbeTarget> take_startable();
    /// The first target that take_startable() would return; null when it would return none.
    [[nodiscard]] const ProbeTarget* next() const;
    /// The target has ended. Returns those whose wait is over and who want to be told.
    std::vector<ProbeWaiter> finish(const ProbeTarget& target);

    [[nodiscard]] const std::set<ProbeTarget>& running() const { return running_; }
    [[nodiscard]] bool empty() const { return running_.empty() && waiting_.empty(); }

private:
    struct Waiting {
        ProbeWaiter waiter = {};
        std::set<ProbeTarget> left = {};
        std::size_t total = 0;
    };
    [[nodiscard]] bool may_start(const ProbeTarget& target) const;

    std::deque<ProbeTarget> waiting_ = {};
    std::set<ProbeTarget> running_ = {};
    std::vector<Waiting> waiters_ = {};
};

/// Finds out whether a GPU is free to be measured.
class LoadCheck {
public:
    /// `known` is called when a load that must_wait_for() has asked for is known.
    LoadCheck(const EngineContext& context, Queries& queries, std::function<void()> known);

    /// Begins to watch the idle counters. NVML is being asked at the same time.
    void start();
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    /// Whether the load of `gpu` is not known yet. Asks for it then.
    [[nodiscard]] bool must_wait_for(const Gpu& gpu);
    /// Why `gpu` should not be measured now; nullopt when there is no known obstacle. Null stands
    /// for the host alone.
    [[nodiscard]] std::optional<Reason> obstacle(const Gpu* gpu) const;

    /// `gpu` is measured now: for a while its load is our own. Later measurements of the same GPU
    /// need not check it.
    void measures(const Gpu& gpu) { measured_ = gpu.id; }
    void measures_none() { measured_.reset(); }

private:
    void metered();

    EngineContext context_;
    Queries& queries_;
    std::function<void()> known_;
    IdleMeter idle_meter_ = {};
    EventHandle metering_ = {};  ///< until the idle meter can tell
    bool is_asking_ = false;     ///< NVML
    std::optional<MonotonicTime> asked_at_ = {};
    std::optional<std::string> measured_ = {};  ///< id of the GPU whose load is our own
};

/// Lets devices compute, to verify or to measure them: the stages "verify" and "measure".
class TrialRunner {
public:
    TrialRunner(const EngineContext& context, Queries& queries, Publisher& publisher);

    /// Learns the GPUs' load, unless nobody needs it. Call it before begin(), and let the queries
    /// that it starts end.
    void prepare(const ProbeRequest& request, bool are_queried);
    /// Queues what the request names. If nothing is left to do, the waiter is told within this
    /// call.
    void begin(const ProbeRequest& request, const ProbeWaiter& waiter);
    /// Verifies all GPUs that have no result yet. Each only once: if that goes wrong, the same
    /// driver is not tried again in the background.
    void verify_in_background();
    /// Starts those whose turn has come. None while the machine goes to sleep.
    void start_next();

    /// Forgets results of devices and drivers that are no longer the same.
    void machine_changed();
    /// Takes results of an earlier process.
    void take_cached(std::vector<store::CachedTrial> cached);
    /// All results, of queries too, that the next start can use.
    [[nodiscard]] store::CachedProbes worth_caching() const;

    [[nodiscard]] bool empty() const { return queue_.empty(); }
    [[nodiscard]] const std::set<ProbeTarget>& running() const { return queue_.running(); }

private:
    /// What is known of a queued target beside itself.
    struct Job {
        std::string gpu = {};    ///< id; "" for software and the processor
        bool may_wake = false;   ///< may be started although that wakes a GPU
        bool is_forced = false;  ///< is measured in spite of any obstacle
    };
    void enqueue(const ProbeTarget& target, const Job& job);
    [[nodiscard]] const Gpu* gpu_of(const Job& job) const;
    [[nodiscard]] Job job_of(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<ProbeResult> obstacle(const ProbeTarget& target,
                                                      const Job& job) const;
    [[nodiscard]] bool must_learn_load();
    void start(const ProbeTarget& target);
    void ended(const ProbeTarget& target, ProbeResult probe);
    [[nodiscard]] std::string fingerprint_of(const ProbeTarget& target) const;
    [[nodiscard]] bool is_as_tested(const ProbeTarget& target) const;
    [[nodiscard]] std::set<ProbeTarget> all_running() const;
    [[nodiscard]] std::optional<ProbeTarget> target_of(const ProbeResult& probe) const;

    EngineContext context_;
    Queries& queries_;
    Publisher& publisher_;
    TrialQueue queue_ = {};
    LoadCheck load_;
    std::map<ProbeTarget, Job> jobs_ = {};  ///< until the target has ended
    /// The device and driver of each target when it was last tried.
    std::map<ProbeTarget, std::string> fingerprints_ = {};
};

}  // namespace gpuprobe::engine
