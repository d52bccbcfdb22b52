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
#include "engine/advice.h"
#include "engine/live_memory.h"
#include "engine/probe_ledger.h"
#include "inventory/scan.h"
#include "policy/decision.h"
#include "policy/profile.h"
#include "policy/recommendation.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "report/report.h"
#include "report/trials.h"
#include "store/probe_cache.h"

namespace gpuprobe {

/// A machine to ask: the running one, or a captured one whose probes are already answered.
struct MachineSource {
    std::shared_ptr<const FileSystem> files = {};  // shared: a capture's parts refer to one tree
    std::shared_ptr<const NodeSource> nodes = {};
    std::optional<Host> host = {};  ///< given by a capture; detected when absent
    std::optional<std::vector<ProbeResult>> recorded =
        {};  ///< given by a capture; probed when absent
    std::optional<WallTime> recorded_at = {};
};

/// The running machine.
MachineSource live_machine();
/// A capture folder (docs/capture.md). Errors: NotFound, Malformed, TooLarge, each "file: reason".
Result<MachineSource> replayed_machine(const std::string& folder);
/// The same from a capture's files, and the machine's own, which are below its /root.
Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root);

struct EngineOptions {
    std::optional<std::string> cache_file = {};  ///< no cache when absent
    std::optional<std::string> state_folder =
        {};  ///< overrides, outcomes and quarantine end with us when absent
    std::vector<std::string> profile_folders = {};    ///< later ones add and replace
    std::vector<std::string> catalogue_folders = {};  ///< likewise
    ProbeLimits limits = {};
    TargetFolders folders = {};                        ///< where drivers announce themselves
    Duration settle = std::chrono::milliseconds{250};  ///< of calm, after a burst of events
    /// Cached answers younger than this are not asked again at the start. 0: they answer until the
    /// drivers have been asked in the background.
    Duration trusts_cache_for = Duration::zero();
    bool watch_hardware = false;  ///< follow hot-plug (live machines only)
    /// Verify each backend of each GPU once, after the drivers have answered. Off: that makes
    /// contexts on GPUs that others compute on, for tens to hundreds of megabytes each.
    bool verifies = false;
};

/// The only conductor: hardware events → due probes → report generations → decisions.
/// Single-threaded; every callback comes from the loop.
class Engine {
public:
    /// Errors: Malformed for a broken built-in profile.
    static Result<std::unique_ptr<Engine>> create(MachineSource source,
                                                  EventLoop& loop,
                                                  Launcher& launcher,
                                                  const Clock& clock,
                                                  EngineOptions options);
    ~Engine();

    /// Stage 0 now; cached answers if they hold; probes for what is missing in the background.
    void start();
    /// Something changed: rescan and re-probe once the burst has settled (engine/burst.h).
    void hardware_changed();
    /// The machine is about to sleep: nothing is asked until it says that it is awake, or for
    /// kLongestSleep of time that counts while it is. What is asked within kWakesUp of that has
    /// twice the time.
    void sleeps(bool is_about_to);
    static constexpr Duration kLongestSleep = std::chrono::minutes{5};
    static constexpr Duration kWakesUp = std::chrono::minutes{1};
    /// Reads profiles and catalogues again. Errors: Malformed for a broken built-in one.
    Status reload();

    [[nodiscard]] const Report& report() const;
    /// The report as one line of JSON; rebuilt once per generation.
    [[nodiscard]] const std::string& report_json() const;
    [[nodiscard]] bool probing() const;
    /// Whether this is a captured machine: its probes never run.
    [[nodiscard]] bool is_replayed() const;

    /// What a user's program gets, with the override for this consumer and that user's experience.
    /// Errors: UnknownConsumer, InvalidRequest.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          uid_t asker) const;
    /// The same from another view of the report: that of somebody who may open less, or more.
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request,
                                          uid_t asker,
                                          const Report& seen) const;
    /// Which of a product's variants that program gets, from the text of a manifest, or from the
    /// installed one where that is empty. Errors: those of Recommender::recommend().
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t asker) const;
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   std::string_view manifest,
                                                   const Value& request,
                                                   uid_t asker,
                                                   const Report& seen) const;
    /// The installed products, sorted.
    [[nodiscard]] std::vector<std::string> products() const;
    /// Whether this user's answers may differ from other people's, as of what anybody reported.
    [[nodiscard]] bool has_experience(uid_t asker) const;

    /// Overrides hold for everybody until they are cleared; the report's notes show them.
    /// Errors: InvalidRequest, TooLarge, TooManyRequests; Io when it can't be kept, and nothing has
    /// changed then.
    Status set_override(const std::string& consumer, const Value& rule, uid_t by);
    /// False when there was none.
    Result<bool> clear_override(const std::string& consumer);
    [[nodiscard]] const std::map<std::string, Override>& overrides() const;

    /// A caller's word on how a choice went (engine/advice.h). Errors: InvalidRequest,
    /// UnknownDevice, TooManyRequests, Io.
    Status report_outcome(const Value& outcome, uid_t by);
    [[nodiscard]] std::vector<std::string> consumers() const;

    /// Lets drivers be asked again that are held back (store/quarantine.h), at the next occasion,
    /// and says how many. Errors: Io when it can't be kept, and nothing has changed then.
    Result<std::uint32_t> clear_quarantine(const QuarantineFilter& filter);

    /// Somebody is about to be answered: drivers that were not asked because their GPU slept, or
    /// because they were in quarantine, are asked now, in the background, where something else has
    /// woken it, or the time is over. Looks at most once in
    /// kLooksAgainAfter, and only while a driver is owed the question: nothing wakes us for this,
    /// as the kernel tells nobody when a GPU wakes.
    void catch_up();
    static constexpr Duration kLooksAgainAfter = std::chrono::seconds{2};

    /// Runs the probes again and calls `done` when the report holds their answers. Joins a run in
    /// progress. Errors: InvalidRequest for an API or a stage that is not known, UnknownDevice.
    ///
    /// The stages "verify" and "measure" compute on each device that a driver has listed
    /// (engine/trial_targets.h). What is measured is measured alone. What is not run has an answer
    /// too, Skipped with why: "asleep", "quarantined", and for "measure" those of
    /// engine/measuring.h. Devices that have gone meanwhile, or whose driver is another one now,
    /// leave none.
    Status probe(const ProbeRequest& request,
                 std::function<void(double)> progress,
                 std::function<void()> done);

    /// Reads a GPU's memory as it is now and calls `reply` once, within this call where no driver
    /// needs to be asked. The report and its generation stay. A captured machine answers what it
    /// recorded. Errors: UnknownDevice; TooManyRequests.
    Status read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply);

    /// Writes a capture of this machine with the answers of its last probes; see engine/capture.h.
    [[nodiscard]] Status capture(const std::string& folder, bool redact) const;

    /// Called where a driver has not answered after ProbeLimits::warn, with one line for a log.
    void on_slow(std::function<void(const std::string&)> told);
    /// Called after each new generation, and when state changes.
    void on_change(std::function<void()> changed);

private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    void ask_drivers(const ProbeRequest& request,
                     std::function<void(double)> progress,
                     std::function<void()> done);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe
