// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "probe/target.h"
#include "report/machine.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

/// Keeps the engine from repeating harmful probes. Maps ProbeTargets to the keys of
/// store/probe_history.h.
class ProbeLedger {
public:
    /// `folder`: holds the quarantine's file; if absent, it lasts as long as this object. The
    /// other arguments are borrowed.
    ProbeLedger(const FileSystem& files,
                const Machine& machine,
                const Clock& clock,
                const std::optional<std::string>& folder);

    /// Reads the file that the previous process left. Call it once.
    void open();
    /// Notes for the report: if the file could not be read, and if it can't be written.
    [[nodiscard]] std::vector<Reason> notes() const;

    /// The result for a target that is held back: Skipped with reason "quarantined" {driver, why,
    /// times, since_usec, until_usec, note}. nullopt if the target may be probed.
    [[nodiscard]] std::optional<ProbeResult> instead_of(const ProbeTarget& target) const;
    /// Whether this is one of several probes that may have taken the machine or the daemon down. It
    /// has to run while no other probe runs, so that a second crash identifies the culprit.
    [[nodiscard]] bool is_suspect(const ProbeTarget& target) const;
    /// Whether no driver is suspect or held back.
    [[nodiscard]] bool is_clean() const { return quarantine_.is_clean(); }
    /// Records that these probes are about to run. Call it before the workers start.
    void begin(const std::vector<ProbeTarget>& targets);
    /// Updates the record of a running probe. Call it after a scan that followed begin().
    void confirm(const ProbeTarget& target);
    /// Records the result of a probe. Call it with each result. Returns whether to probe again,
    /// because this was the first harm.
    [[nodiscard]] bool should_retry(const ProbeTarget& target, const ProbeResult& probe);
    /// Clears a driver's past harm. Call it when an answer is complete but its worker has not
    /// ended.
    void answered(const ProbeTarget& target);
    /// Ends all probes except these, and writes the file.
    void settle(const std::set<ProbeTarget>& still_running);
    /// Removes ended probes from the file. Call it when a probe takes long: it may take the machine
    /// down, and the ended ones must not be blamed for that.
    void remove_ended();
    /// Whether no driver has been probed since the machine booted, as far as is known.
    [[nodiscard]] bool is_cold() const { return quarantine_.is_cold(); }
    /// Judges the result of a probe for which begin() was not called, because its driver has
    /// answered before.
    void judge_unannounced(const ProbeTarget& target, const ProbeResult& probe);

    [[nodiscard]] std::vector<QuarantinedProbe> held() const { return quarantine_.held(); }
    Result<std::uint32_t> clear(const store::QuarantineFilter& filter) {
        return quarantine_.clear(filter);
    }

private:
    [[nodiscard]] store::ProbeKey key_of(const ProbeTarget& target) const;
    [[nodiscard]] bool judge(const store::ProbeKey& key, const ProbeResult& probe);
    void note(const Status& saved);

    const FileSystem& files_;
    const Machine& machine_;
    store::Quarantine quarantine_;
    /// The keys of running probes, as of their start: a driver may be replaced while it is probed.
    std::map<ProbeTarget, store::ProbeKey> running_ = {};
    std::optional<Reason> unread_ = {};
    std::optional<Reason> unkept_ = {};
};

/// Reads a filter: `api` or `driver` or both, or only `all` (true). Errors: InvalidRequest with the
/// key at fault.
Result<store::QuarantineFilter> quarantine_filter_from(const Value& object);

}  // namespace gpuprobe::engine
