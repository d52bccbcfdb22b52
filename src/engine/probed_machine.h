// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "inventory/scan.h"
#include "probe/target.h"
#include "report/facts.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::engine {

/// The report without values that change by themselves (times, durations, free memory). Two reports
/// with equal stable parts belong to the same generation.
Report stable_part(Report report);

/// The part of a probe result that stays the same as long as the machine stays the same: the
/// outcome and the devices' facts, without momentary facts.
Value stable_part(const ProbeResult& result);

/// The code of the reason for a driver whose results vary from probe to probe. The reason's detail
/// is {driver, since_usec}.
constexpr ReasonCode kUnstable = "unstable";

/// Distinguishes an unstable driver, whose results vary, from a change of the machine.
///
/// If the machine has changed, further probes repeat the new result. So if a result differs from
/// the previous result, the driver is probed again; if the next result differs too, the driver is
/// unstable. For an unstable driver, the result with fewer devices or less memory is accepted,
/// until three results in a row agree.
class StabilityCheck {
public:
    struct Verdict {
        ProbeResult accepted = {};
        bool ask_again = false;
    };
    /// Compares `result`, the newest result, with the accepted result (null if no result has been
    /// accepted). The accepted result of an unstable driver has the reason kUnstable. Only queries
    /// with the outcome Answered or Absent are compared; all other results are accepted.
    [[nodiscard]] Verdict check(ProbeResult result, const ProbeResult* accepted);
    /// Sets the result that was accepted before this program started. The next result is compared
    /// with the accepted result. The hash of the accepted result is computed only for this
    /// comparison, because the computation takes a tenth of the time of a start with a cache.
    void begin_with(const ProbeResult& result);
    /// Forgets all results, because after a change of the machine the next results may differ.
    void machine_changed() { last_.clear(); }

private:
    struct Last {
        std::string digest = {};  ///< hash of the last result; empty if not computed yet
        int in_a_row = 1;         ///< number of results in a row that agreed
        bool is_doubted = false;  ///< whether the last result differed from the result before it
    };
    /// The last result of each driver, by API and driver.
    std::map<std::pair<std::string, std::string>, Last> last_ = {};
};

/// The last result of each probe.
class ProbeResults {
public:
    /// Adds a result or replaces an older one.
    void put(ProbeResult probe);
    /// Like put(), but a skipped result (for instance because the device sleeps) does not replace
    /// an answered result: the facts of the answered result stay, with their age. If a verification
    /// or measurement is kept, it gets the reasons of the skipped result.
    void keep(ProbeResult probe);
    void forget(const ProbeTarget& target);
    /// Call this function when the machine has changed. Afterwards, earlier results are no longer
    /// kept for drivers that cannot be probed.
    void machine_changed();
    /// Forgets the results of drivers that are no longer installed, and adds the results of drivers
    /// that cannot be used (TargetSearch::unusable).
    void keep_only(const TargetSearch& search);

    [[nodiscard]] const ProbeResult* find(const ProbeTarget& target) const;
    [[nodiscard]] std::vector<ProbeResult> all() const;
    /// Whether a probe crashed or timed out, a driver is unstable or in quarantine, or several
    /// workers were lost.
    [[nodiscard]] bool any_went_badly() const;

    /// The results that a later start may use: results with the outcome Answered or Absent that the
    /// report does not contradict, and earlier results of drivers whose last probe could not
    /// finish.
    [[nodiscard]] std::vector<ProbeResult> worth_caching(const Report& report) const;

private:
    /// Identifies a probe by its API, driver, stage and device.
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    void remember_earlier(const Key& key);

    std::map<Key, ProbeResult> probes_ = {};
    /// The earlier result of each probe whose worker could not start or was killed from outside
    /// (was_never_heard()).
    std::map<Key, ProbeResult> earlier_ = {};
    std::set<Key> outdated_ = {};  ///< probes whose results are from before the machine changed
};

/// The source from which the engine reads a machine: the running machine, or a capture with
/// recorded probes.
struct MachineSource {
    std::shared_ptr<const FileSystem> files = {};  // shared with copies and recorders of the source
    std::shared_ptr<const NodeSource> nodes = {};
    std::optional<Host> host = {};  ///< the captured host; if absent, the host is detected
    /// The results of probes in a capture, until the first scan takes them; if absent, drivers are
    /// probed.
    std::optional<std::vector<ProbeResult>> recorded = {};
    DriverVariables variables = {};  ///< variables of the drivers in a capture
    std::optional<WallTime> recorded_at = {};
};

/// The running machine.
MachineSource live_machine();
/// Reads a capture folder (docs/internals/capture.md). Errors: NotFound, Malformed or TooLarge,
/// with a message of the form "file: reason".
Result<MachineSource> replayed_machine(const std::string& folder);
/// A document from the folder that contains capture.json, with every string scrubbed;
/// nullopt if there is no such document. Errors: Malformed, TooLarge.
Result<std::optional<Value>> captured_document(const FileSystem& capture, const std::string& path);
/// Reads a capture whose metadata is in `files`, and the machine's own files (the capture's /root)
/// in `root`. Errors: the same as for replayed_machine().
Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root);

/// The result of the last scan of a machine, and the results of probing its drivers.
struct ProbedMachine {
    MachineSource source = {};
    Machine hardware = {};
    TargetSearch search = {};
    ProbeResults results = {};

    [[nodiscard]] const FileSystem& files() const { return *source.files; }
    /// Whether the machine is a capture. The results in a capture are recorded, and no probe runs.
    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }
    /// Whether the machine still has the driver of `target`.
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    /// Scans the hardware and searches for drivers. Forgets the results of drivers that no longer
    /// exist.
    void scan(const TargetFolders& folders);
    /// Does only the part of scan() that is needed to choose which drivers to probe: scans PCI
    /// functions and searches for drivers. Do not call this function for a capture.
    void scan_functions(const TargetFolders& folders);
    /// Reads the power state of the devices again.
    void refresh_power();
    /// A string that changes when drivers may report different results (fingerprint_of() in
    /// store/probe_history.h).
    [[nodiscard]] std::string fingerprint() const;
};

}  // namespace gpuprobe::engine
