// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>

#include "engine/burst.h"
#include "engine/decision_service.h"
#include "engine/engine.h"
#include "engine/gpu_load.h"
#include "engine/probe_ledger.h"
#include "engine/probe_results.h"
#include "engine/round.h"
#include "engine/trial_queue.h"
#include "inventory/hardware_monitor.h"

namespace gpuprobe {

/// Answers that arrive within this time become one generation.
constexpr Duration kGather = std::chrono::milliseconds{50};

/// What the engine knows and does by itself: events → due probes → generations of the report.
/// Engine's own functions, in engine.cpp, are what others may ask of it.
struct Engine::Impl {
    Impl(DecisionService decision_service,
         MachineSource machine_source,
         EventLoop& event_loop,
         Launcher& launcher,
         const Clock& the_clock,
         EngineOptions engine_options)
        : decisions{std::move(decision_service)},
          source{std::move(machine_source)},
          loop{event_loop},
          clock{the_clock},
          options{std::move(engine_options)},
          ledger{*source.files, machine, clock, options.state_folder},
          live_memory{*source.files, clock,
                      [this](const ProbeTarget& target, LiveMemoryReader::Probed probed) {
                          ask_aside(target, std::move(probed));
                      }},
          supervisor{event_loop, launcher, the_clock, options.limits} {
        if (options.cache_file)
            cache.emplace(*options.cache_file);
        supervisor.on_slow([this](const ProbeTarget& target, const std::string& phase) {
            takes_long(target, phase);
        });
    }

    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }

    [[nodiscard]] CallerContext caller(uid_t uid, const Report& seen) const {
        return {.uid = uid, .machine = report, .seen = seen, .now = clock.wall()};
    }

    void scan();
    [[nodiscard]] bool rescan();
    void load_cache();
    void save_cache() const;
    [[nodiscard]] std::string fingerprint() const;
    void publish();
    [[nodiscard]] ReportState state() const;
    using Chosen = std::function<bool(const ProbeTarget&)>;
    void start_probes(const Chosen& chosen, bool allow_wake);
    void start_all_probes();
    [[nodiscard]] bool is_fresh(const ProbeTarget& target) const;
    void start_what_is_due();
    void ask(const ProbeTarget& target);
    void takes_long(const ProbeTarget& target, const std::string& phase);
    void ask_aside(const ProbeTarget& target, LiveMemoryReader::Probed probed);
    [[nodiscard]] std::vector<ProbeTarget> askable() const;
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    [[nodiscard]] bool asks_again(const ProbeTarget& target, const ProbeResult& probe);
    [[nodiscard]] bool may_be_asked_again(const ProbeTarget& target);
    [[nodiscard]] bool asks_once_more(const ProbeTarget& target);
    void finished(const ProbeTarget& target, ProbeResult probe);
    void end_round();
    void settle();
    void look_when_due();
    void settled();
    void wake_up();
    void watch_hardware();

    // trials.cpp
    void ask_for_trials(const ProbeRequest& request,
                        std::function<void(double)> progress,
                        std::function<void()> done);
    [[nodiscard]] std::optional<ProbeResult> instead_of_trial(const ProbeTarget& target,
                                                              const ProbeRequest& request) const;
    void begin_trials(const ProbeRequest& request,
                      const std::function<void(double)>& progress,
                      const std::function<void()>& done);
    void start_metering();
    [[nodiscard]] const Gpu* gpu_of(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<Reason> obstacle_to(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<ProbeResult> instead_of_start(const ProbeTarget& target) const;
    [[nodiscard]] bool learns_load();
    void start_trials();
    void start_trial(const ProbeTarget& target);
    [[nodiscard]] std::set<ProbeTarget> all_running() const;
    [[nodiscard]] bool is_as_tested(const ProbeTarget& target) const;
    void trial_finished(const ProbeTarget& target, ProbeResult probe);
    void forget_outdated_trials();
    [[nodiscard]] std::string ground_of(const ProbeTarget& target) const;
    [[nodiscard]] std::optional<ProbeTarget> target_of(const ProbeResult& probe) const;
    void take_cached_trials(std::vector<CachedTrial> cached);
    [[nodiscard]] CachedProbes worth_caching() const;
    void verify_in_the_background();

    DecisionService decisions;
    MachineSource source;
    EventLoop& loop;
    const Clock& clock;
    EngineOptions options;
    std::optional<ProbeCache> cache = {};

    Machine machine = {};
    ProbeLedger ledger;
    TargetSearch search = {};
    ProbeResults results = {};
    StabilityCheck stability = {};
    std::string known_fingerprint = {};
    bool from_cache = false;
    bool has_heard_all = false;       ///< a round has ended: what is cached is what it heard
    std::set<ProbeTarget> owed = {};  ///< not asked: it would have woken a GPU, or is held back
    std::optional<MonotonicTime> looked = {};  ///< whether they can be asked now
    std::set<ProbeTarget> waking = {};         ///< asked although that wakes a GPU
    std::set<ProbeTarget> outdated =
        {};  ///< run since before the last change: may answer of before

    Report report = {};
    mutable std::string json = {};
    std::vector<std::function<void()>> listeners = {};
    std::function<void(const std::string&)> slow = {};

    Round round = {};
    TrialQueue trials = {};
    std::map<ProbeTarget, std::string> tried_gpus = {};  ///< by what is tried on them, their ids
    std::set<ProbeTarget> forced = {};  ///< to be measured whatever speaks against it
    IdleMeter idle_meter = {};
    EventHandle metering = {};  ///< until the idle meter can tell
    bool is_learning_load = false;
    std::optional<MonotonicTime> load_asked = {};   ///< when NVML was last asked how busy GPUs are
    std::optional<std::string> measured_last = {};  ///< GPU whose load is our own
    /// What each device and its driver were when it was last asked to compute.
    std::map<ProbeTarget, std::string> tested_as = {};
    EventHandle gathering = {};
    EventHandle ending = {};  ///< of a round in which nothing had to be asked
    EventHandle settling = {};
    Burst burst{options.settle};
    EventHandle asleep = {};
    std::optional<MonotonicTime> woke_at = {};
    bool is_read_anew = false;  ///< what answers rest on beside the report
    EventHandle quiet_start = {};
    std::unique_ptr<HardwareMonitor> monitor = {};
    std::vector<Reason> notes = {};  ///< for good
    LiveMemoryReader live_memory;
    // Last: it ends first, and its workers report to the members above.
    Supervisor supervisor;
};

}  // namespace gpuprobe
