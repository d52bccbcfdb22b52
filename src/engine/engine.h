// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/files.h"
#include "engine/feedback.h"
#include "engine/knowledge_folders.h"
#include "engine/live_memory.h"
#include "engine/machine.h"
#include "engine/probe_ledger.h"
#include "engine/targets.h"
#include "policy/decision.h"
#include "policy/profile.h"
#include "policy/recommendation.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "report/report.h"
#include "report/trials.h"
#include "store/probe_cache.h"

namespace gpuprobe::engine {

class Redaction;

struct EngineOptions {
    std::optional<std::string> cache_file = {};  ///< no cache when absent
    /// Holds overrides, outcomes and quarantine; when absent, they last as long as the engine.
    std::optional<std::string> state_folder = {};
    store::Outcomes::AccountOf account_of = {};      ///< whom reported outcomes count for
    std::vector<std::string> consumer_folders = {};  ///< later ones add and replace
    std::optional<KnowledgeFolders> knowledge = {};  ///< without any, what is compiled in
    ProbeLimits limits = {};
    TargetFolders folders = {};                        ///< where drivers announce themselves
    Duration settle = std::chrono::milliseconds{250};  ///< see Debounce in engine/system_events.h
    /// At the start, drivers with a cached result younger than this are not asked. 0: all are
    /// asked, but in the background, and the cached results are used until then.
    Duration trusts_cache_for = Duration::zero();
    bool watch_hardware = false;  ///< follow hot-plug (live machines only)
    /// Verify each backend of each GPU once, after the drivers have answered. Off by default,
    /// because it makes contexts of tens to hundreds of megabytes on GPUs that others use.
    bool verifies = false;
    /// Whether the first worker may be started before the machine is looked at; for a program that
    /// knows kWaitsForJob (probe/launcher.h).
    bool starts_ahead = false;
    /// Whether nobody waits for the end of processes that have answered: for a program that ends
    /// then, and takes them along.
    bool ends_with_answers = false;
};

/// Keeps a report of the machine up to date and decides on the basis of it: hardware events lead to
/// probes (Queries, TrialRunner), probes to generations of the report (Publisher), and the report
/// to decisions (DecisionService). Single-threaded; every callback comes from the loop.
class Engine {
public:
    /// Reads documents; a worker may be started that waits to be told what to ask.
    static std::unique_ptr<Engine> create(MachineSource source,
                                          EventLoop& loop,
                                          Launcher& launcher,
                                          const Clock& clock,
                                          EngineOptions options);
    ~Engine();

    /// Scans the machine, takes cached results that still hold, and probes what is missing in the
    /// background.
    void start();
    /// The hardware has changed: scans and probes again once events have settled.
    void hardware_changed();
    /// The machine is about to sleep, or is awake again. In between no driver is asked, and for a
    /// while afterwards drivers get twice the time (SystemSleep in engine/system_events.h).
    void sleeps(bool is_about_to);
    /// Reads the documents of knowledge and consumers again.
    void reload();

    [[nodiscard]] const Report& report() const;
    /// The report as one line of JSON.
    [[nodiscard]] const std::string& report_json() const;
    [[nodiscard]] bool probing() const;
    /// Whether this is a captured machine, whose probes are recorded and never run.
    [[nodiscard]] bool is_replayed() const;

    /// The backend for a user's program. The override for this consumer and the failures that the
    /// user reported apply. Errors: UnknownConsumer, InvalidRequest.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          uid_t uid) const {
        return select(consumer, request, uid, report());
    }
    /// The same for somebody who may open fewer devices, or more: `seen` is the report as they see
    /// it.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          uid_t uid,
                                          const Report& seen) const;
    /// The best of a product's variants, by the text of a manifest or, where that is empty, by the
    /// installed manifest. Errors: those of DecisionService::recommend().
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t uid) const {
        return recommend(product, manifest, request, uid, report());
    }
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t uid,
                                                   const Report& seen) const;
    /// The installed products, sorted.
    [[nodiscard]] std::vector<std::string> products() const;
    /// Whether reported failures may make this user's decisions differ from other people's.
    [[nodiscard]] bool has_experience(uid_t uid) const;

    /// Overrides apply to everybody until they are cleared; the report's notes show them.
    /// Errors: InvalidRequest, TooLarge, TooManyRequests; Io when it can't be written, and nothing
    /// has changed then.
    Status set_override(const std::string& consumer, const Value& rule, uid_t by);
    /// False when there was none.
    Result<bool> clear_override(const std::string& consumer);
    [[nodiscard]] const std::map<std::string, store::Override>& overrides() const;

    /// How a choice worked out (engine/feedback.h). Errors: InvalidRequest, UnknownDevice,
    /// TooManyRequests, Io.
    Status report_outcome(const Value& outcome, uid_t by);
    [[nodiscard]] std::vector<std::string> consumers() const;

    /// Releases drivers from quarantine (store/quarantine.h), so that they are asked at the next
    /// occasion, and returns how many. `filter` has `api` and `driver`, or `all` (true) alone.
    /// Errors: InvalidRequest, naming the key; Io when it can't be written, and nothing has changed
    /// then.
    Result<std::uint32_t> clear_quarantine(const Value& filter);

    /// Asks drivers, in the background, that could not be asked before because their GPU slept or
    /// they were in quarantine, and that can be asked by now. Call it before answering somebody:
    /// the kernel does not tell when a GPU wakes, so nothing else would notice.
    void catch_up();

    /// Runs the probes again and calls `done` when the report holds their results. Joins a run in
    /// progress. Errors: InvalidRequest for an unknown API or stage, UnknownDevice.
    ///
    /// The stages "verify" and "measure" compute on each device that a driver has listed
    /// (trial_targets() in engine/targets.h); a measurement runs alone. A probe that does not run
    /// has the result Skipped with the reason: "asleep", "quarantined", and for "measure" those of
    /// engine/gpu_load.h. A device that disappears meanwhile, or gets another driver, has no
    /// result.
    Status probe(const ProbeRequest& request,
                 std::function<void(double)> progress,
                 std::function<void()> done);

    /// Brings up to date what is of the moment (FactTells::Moment), for somebody who asks what is
    /// wrong now, and calls `done` once: within this call where that was done less than kIsOfNow
    /// ago or nobody needs to be asked, and after kMostForNow at the latest. Wakes nothing.
    void renew(std::function<void()> done);
    static constexpr Duration kIsOfNow = std::chrono::seconds{10};
    static constexpr Duration kMostForNow = std::chrono::seconds{2};

    /// Reads a GPU's memory as it is now and calls `reply` once, within this call if no driver
    /// needs to be asked. The report does not change. A captured machine gives the recorded memory.
    /// Errors: UnknownDevice; TooManyRequests.
    Status read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply);

    /// Writes a capture of this machine with its last probe results; see engine/capture.h.
    [[nodiscard]] Status capture(const std::string& folder, Redaction* mask) const;

    /// `told` gets a line for a log when a driver has not answered within ProbeLimits::warn.
    void on_slow(std::function<void(const std::string&)> told);
    /// `changed` is called after each new generation.
    void on_change(std::function<void()> changed);

private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::engine
