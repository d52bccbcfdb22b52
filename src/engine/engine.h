// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/units.h"
#include "engine/decision_service.h"
#include "engine/knowledge_base.h"
#include "engine/live_memory.h"
#include "engine/probe_targets.h"
#include "engine/probed_machine.h"
#include "policy/decision.h"
#include "policy/profile.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "report/report.h"
#include "report/trials.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

class Redaction;

struct EngineOptions {
    std::optional<std::string> cache_file = {};  ///< path of the cache; no cache if absent
    /// The folder for overrides, outcomes and quarantine. If absent, these data last only as long
    /// as the engine.
    std::optional<std::string> state_folder = {};
    store::Outcomes::AccountOf account_of = {};  ///< a function that maps a uid to an account
    /// The folders of data files about applications. Files in later folders override files in
    /// earlier folders.
    std::vector<std::string> application_folders = {};
    std::optional<KnowledgeFolders> knowledge = {};  ///< if absent, only compiled-in data is used
    ProbeLimits limits = {};
    TargetFolders folders = {};                        ///< the folders of the manifests of drivers
    Duration settle = std::chrono::milliseconds{250};  ///< the quiet time before a probe (Debounce)
    /// At the start, drivers with a cached result younger than this time aren't probed. If the
    /// time is 0, all drivers are probed in the background, and cached results are used until then.
    Duration trusts_cache_for = Duration::zero();
    bool watch_hardware = false;  ///< whether to follow hot-plug; only for live machines
    /// Whether to verify each backend of each GPU once, after the drivers have answered. The
    /// default is false, because verification creates contexts of tens to hundreds of megabytes on
    /// GPUs that others may be using.
    bool verifies = false;
    /// Whether the first worker may be started before the scan. Set this only if the worker program
    /// handles kWaitsForJob (probe/launcher.h).
    bool starts_ahead = false;
    /// Whether probing() ends with the last answer and not with the exit of the last worker. Set
    /// this for a program that then exits and thereby ends its workers.
    bool ends_with_answers = false;
};

/// Keeps a report of the machine up to date and makes decisions based on it: hardware events start
/// probes (Queries, TrialRunner), results of probes create generations of the report (Publisher),
/// and decisions use the report (DecisionService). Single-threaded; callbacks come from the event
/// loop.
class Engine {
public:
    /// Reads the data files. With EngineOptions::starts_ahead, this function may also start a
    /// worker that waits for its first job.
    static std::unique_ptr<Engine> create(MachineSource source,
                                          EventLoop& loop,
                                          Launcher& launcher,
                                          const Clock& clock,
                                          EngineOptions options);
    ~Engine();

    /// Scans the machine, uses cached results that are still valid, and probes the other drivers in
    /// the background.
    void start();
    /// Reports a hardware event. The engine scans and probes the machine when no more events
    /// arrive.
    void hardware_changed();
    /// Reports that the machine is about to sleep, or is awake again. While the machine sleeps, no
    /// driver is probed; for a while after the machine wakes, drivers get twice the time
    /// (SystemSleep in engine/system_events.h).
    void sleeps(bool is_about_to);
    /// Reads all data files again.
    void reload();
    /// Frees the memory of parsed data files and of report_json(). Both are created again when they
    /// are needed. Do not call this function while a request is being answered.
    void release_memory();

    [[nodiscard]] const Report& report() const;
    /// The report as one line of JSON.
    [[nodiscard]] const std::string& report_json() const;
    [[nodiscard]] bool probing() const;
    /// Whether the machine is captured. The probes of a captured machine are recorded and never
    /// run.
    [[nodiscard]] bool is_replayed() const;

    /// Selects a backend of an application for a user. The application's override and the failures
    /// that the user reported apply. Errors: UnknownApplication or InvalidRequest.
    [[nodiscard]] Result<Decision> select(const std::string& application,
                                          const Value& request,
                                          uid_t uid) const {
        return select(application, request, uid, report());
    }
    /// Selects a backend for a user with access to fewer or more devices. `seen` is the report with
    /// the access rights of that user.
    [[nodiscard]] Result<Decision> select(const std::string& application,
                                          const Value& request,
                                          uid_t uid,
                                          const Report& seen) const;
    /// Recommends a variant of an application, from the JSON in `manifest` or, if `manifest` is
    /// empty, from the installed manifest. Errors: the same as for DecisionService::recommend().
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t uid) const {
        return recommend(application, manifest, request, uid, report());
    }
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t uid,
                                                   const Report& seen) const;
    /// Whether reported failures may make this user's decisions differ from other users' decisions.
    [[nodiscard]] bool has_experience(uid_t uid) const;

    /// Sets an override, which applies to all users until it is cleared. The report's notes show
    /// the override. Errors: InvalidRequest, TooLarge or TooManyRequests; Io if the override cannot
    /// be written, in which case nothing has changed.
    Status set_override(const std::string& application, const Value& rule, uid_t by);
    /// Removes an override; returns false if the application has no override.
    Result<bool> clear_override(const std::string& application);
    [[nodiscard]] const std::map<std::string, store::Override>& overrides() const;

    /// Records whether a choice worked (engine/decision_service.h). Errors: InvalidRequest,
    /// UnknownDevice, TooManyRequests or Io.
    Status report_outcome(const Value& outcome, uid_t by);
    [[nodiscard]] std::vector<ApplicationSummary> applications() const;

    /// Releases drivers from quarantine (store/probe_history.h), so that they are probed at the
    /// next opportunity. Returns the number of drivers that were released. `filter` contains `api`
    /// or `driver` or both, or only `all` (true). Errors: InvalidRequest with the key at fault; Io
    /// if the file cannot be written, in which case nothing has changed.
    Result<std::uint32_t> clear_quarantine(const Value& filter);

    /// Probes, in the background, drivers that were skipped because their GPU was asleep or because
    /// they were in quarantine, if they can be probed now. Call this function before answering a
    /// caller: the kernel sends no event when a GPU wakes, so the engine does not detect this in
    /// any other way.
    void catch_up();

    /// Runs probes again and calls `done` when the report contains their results. If such a run is
    /// already in progress, the call joins that run. Errors: UnknownDevice, or InvalidRequest for
    /// an unknown API or stage.
    ///
    /// The stages "verify" and "measure" compute on each device that a driver has listed
    /// (trial_targets() in engine/probe_targets.h); nothing else runs during a measurement. A probe
    /// that does not run has the result Skipped with one of the reasons "asleep", "quarantined",
    /// and for "measure" also the reasons in engine/trials.h. If a device disappears or gets a
    /// different driver before its probe has ended, there is no result.
    Status probe(const ProbeRequest& request,
                 std::function<void(double)> progress,
                 std::function<void()> done);

    /// Refreshes momentary facts (FactSpecificity::Moment), for a caller that diagnoses the current
    /// state. Calls `done` once, after kMostForNow at the latest. `done` is called before this
    /// function returns if no probe is running, for instance because the last refresh was less than
    /// kIsOfNow ago. Wakes no device.
    void renew(std::function<void()> done);
    static constexpr Duration kIsOfNow = std::chrono::seconds{2};
    static constexpr Duration kMostForNow = std::chrono::seconds{2};

    /// Reads the current memory of a GPU and calls `reply` once. If no probe is needed, `reply` is
    /// called before this function returns. The report does not change. For a captured machine, the
    /// reply is the recorded memory. Errors: UnknownDevice or TooManyRequests.
    Status read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply);

    /// Writes a capture of this machine with its latest probe results; see engine/capture.h.
    [[nodiscard]] Status capture(const std::string& folder, Redaction* mask) const;

    /// Sets a callback that gets a line for the log when a driver has not answered within
    /// ProbeLimits::warn.
    void on_slow(std::function<void(const std::string&)> notify);
    /// Adds a callback that is called after each new generation of the report.
    void on_change(std::function<void()> changed);

private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::engine
