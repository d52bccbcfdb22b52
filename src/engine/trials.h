// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "engine/probe_targets.h"
#include "engine/query_rounds.h"
#include "report/machine.h"
#include "report/report.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

/// Measures how busy Intel GPUs are with the work of all users, from the kernel's counters of how
/// long each part of a GPU was idle. All users may read these counters, whereas /proc/PID/fdinfo
/// can be read only by the user of the process.
///
/// Sources: Linux, drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c (rc6_residency_ms) and
/// drivers/gpu/drm/xe/xe_gt_idle.c (idle_residency_ms).
class IdleMeter {
public:
    /// Reads the counters of all GPUs that are awake. Reading the counters of a sleeping GPU would
    /// wake the GPU.
    void look(const FileSystem& files, const Machine& machine, MonotonicTime now);
    [[nodiscard]] bool watches(const std::string& device) const { return seen_.contains(device); }

    /// The share of the time since look() in which the busiest part of the GPU was awake, in
    /// percent; nullopt if the GPU has no idle counter, or if less time than kShortest has passed.
    [[nodiscard]] std::optional<std::uint64_t> percent(const FileSystem& files,
                                                       const std::string& device,
                                                       MonotonicTime now) const;

    /// The shortest time between look() and percent(). The counters have a resolution of
    /// milliseconds, and an idle part needs a few milliseconds to fall asleep.
    static constexpr Duration kShortest = std::chrono::milliseconds{100};

private:
    /// How long each part of the GPU was asleep, in milliseconds; the key is the path of
    /// the part's counter.
    using Counters = std::map<std::string, std::uint64_t>;
    std::map<std::string, Counters> seen_ = {};  ///< the counters at look(), by id of the device
    MonotonicTime looked_ = {};                  ///< the time at which look() was called
};

/// A GPU that is busier than kBusyPercent isn't measured, because the figures would be wrong and
/// the users of the GPU would be disturbed.
constexpr std::uint64_t kBusyPercent = 10;
/// A GPU with less free memory than kLeastFree isn't measured, because the buffers would have to
/// be so small that they fit into caches.
constexpr Bytes kLeastFree = mib(256);

/// The reason not to measure on this machine now (`on-battery`); nullopt if no obstacle is known.
/// Source: power_supply class (Documentation/ABI/testing/sysfs-class-power).
std::optional<Reason> obstacle_on_host(const FileSystem& files);

/// The reason not to measure on `gpu` now (`busy` {percent, source} or `not-enough-memory` {free,
/// need}); nullopt if no obstacle is known.
///
/// Sources: gpu_busy_percent (Documentation/gpu/amdgpu/thermal.rst), NVML's last report, and
/// IdleMeter.
std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now);

/// The queue of verifications and measurements, in order of arrival, with the callers that wait for
/// them. Nothing else runs during a measurement: two measurements at the same time would share
/// memory, at least the host's memory.
class TrialQueue {
public:
    /// Adds the targets that aren't in the queue yet. `waiter` waits for all of `targets`.
    void add(const std::vector<ProbeTarget>& targets, ProbeWaiter waiter);
    /// Removes and returns the targets that can start now. From then on, the returned targets count
    /// as running.
    std::vector<ProbeTarget> take_startable();
    /// The first target that take_startable() would return, or null.
    [[nodiscard]] const ProbeTarget* next() const;
    /// Removes a target that has ended. Returns the waiters that waited only for this target, if
    /// they have a `done` callback.
    std::vector<ProbeWaiter> finish(const ProbeTarget& target);

    [[nodiscard]] const std::set<ProbeTarget>& running() const { return running_; }
    [[nodiscard]] bool empty() const { return running_.empty() && waiting_.empty(); }

private:
    struct Waiting {
        ProbeWaiter waiter = {};
        std::set<ProbeTarget> left = {};  ///< the targets that have not ended
        std::size_t total = 0;            ///< number of targets, for computing progress
    };
    [[nodiscard]] bool may_start(const ProbeTarget& target) const;

    std::deque<ProbeTarget> waiting_ = {};
    std::set<ProbeTarget> running_ = {};
    std::vector<Waiting> waiters_ = {};
};

/// Determines whether a GPU is idle enough to be measured.
class LoadCheck {
public:
    /// `known` is called when the load for which must_wait_for() returned true becomes known.
    LoadCheck(const EngineContext& context, Queries& queries, std::function<void()> known);

    /// Starts to watch the idle counters. The caller must have started a query of NVML.
    void start();
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    /// Whether the load of `gpu` is still unknown; if the load is unknown, starts to determine it.
    [[nodiscard]] bool must_wait_for(const Gpu& gpu);
    /// The reason why `gpu` should not be measured now; nullopt if no obstacle is known. If `gpu`
    /// is null, only the host is checked.
    [[nodiscard]] std::optional<Reason> obstacle(const Gpu* gpu) const;

    /// Records that `gpu` is being measured. For some time, the measurement causes the load of the
    /// GPU, so later measurements of the same GPU do not check the load.
    void measures(const Gpu& gpu) { measured_ = gpu.id; }
    void measures_none() { measured_.reset(); }

private:
    void metered();

    EngineContext context_;
    Queries& queries_;
    std::function<void()> known_;
    IdleMeter idle_meter_ = {};
    EventHandle metering_ = {};  ///< a timer that fires when the idle meter has a result
    bool is_asking_ = false;     ///< whether a query of NVML is running
    std::optional<MonotonicTime> asked_at_ = {};
    /// Id of the GPU whose load is caused by a measurement.
    std::optional<std::string> measured_ = {};
};

/// Runs the stages "verify" and "measure": runs test computations on devices, and checks the
/// results or measures the speed.
class TrialRunner {
public:
    TrialRunner(const EngineContext& context, Queries& queries, Publisher& publisher);

    /// Starts to determine the load of the GPUs if the request needs it. Call this function before
    /// begin(), and wait for the queries that prepare() starts. `are_queried` is true if all
    /// drivers are already being queried.
    void prepare(const ProbeRequest& request, bool are_queried);
    /// Queues the targets of the request. If no target can run, calls the waiter before this
    /// function returns.
    void begin(const ProbeRequest& request, const ProbeWaiter& waiter);
    /// Verifies all GPUs that have no result yet. Each GPU is verified only once: after a failure,
    /// the same driver isn't tried again in the background.
    void verify_in_background();
    /// Starts the targets that can start now. While the machine is going to sleep, no target can
    /// start.
    void start_next();

    /// Forgets the results of devices and drivers that have changed.
    void machine_changed();
    /// Adds results from an earlier process that are still valid.
    void take_cached(std::vector<store::CachedTrial> cached);
    /// All results that the next start can use, including the results of queries.
    [[nodiscard]] store::CachedProbes worth_caching() const;

    [[nodiscard]] bool empty() const { return queue_.empty(); }
    [[nodiscard]] const std::set<ProbeTarget>& running() const { return queue_.running(); }

private:
    /// How to run a queued target.
    struct Job {
        std::string gpu = {};    ///< id of the GPU; "" for software and the processor
        bool may_wake = false;   ///< whether the start may wake a GPU
        bool is_forced = false;  ///< whether to measure even if there is an obstacle
    };
    void enqueue(const ProbeTarget& target, const Job& job);
    [[nodiscard]] const Gpu* gpu_of(const Job& job) const;
    [[nodiscard]] Job job_of(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<ProbeResult> obstacle(const ProbeTarget& target,
                                                      const Job& job) const;
    [[nodiscard]] bool must_learn_load();
    void start(const ProbeTarget& target);
    void ended(const ProbeTarget& target, ProbeResult probe);
    void keep(const ProbeTarget& target, ProbeResult probe);
    [[nodiscard]] std::string fingerprint_of(const ProbeTarget& target) const;
    [[nodiscard]] bool is_as_tested(const ProbeTarget& target) const;
    [[nodiscard]] std::set<ProbeTarget> all_running() const;
    [[nodiscard]] std::optional<ProbeTarget> target_of(const ProbeResult& probe) const;

    EngineContext context_;
    Queries& queries_;
    Publisher& publisher_;
    TrialQueue queue_ = {};
    LoadCheck load_;
    std::map<ProbeTarget, Job> jobs_ = {};  ///< the targets that have not ended
    /// The fingerprint that the device and driver of each target had when the target was last
    /// tried.
    std::map<ProbeTarget, std::string> fingerprints_ = {};
};

}  // namespace gpuprobe::engine
