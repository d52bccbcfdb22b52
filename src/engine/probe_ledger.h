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
#include "store/quarantine.h"

namespace gpuprobe::engine {

/// Keeps the engine from repeating probes that did harm: store/quarantine.h for ProbeTargets.
class ProbeLedger {
public:
    /// `folder`: where it is kept; without one it lasts as long as this object. The others are
    /// borrowed.
    ProbeLedger(const FileSystem& files,
                const Machine& machine,
                const Clock& clock,
                const std::optional<std::string>& folder);

    /// Reads what the previous process left; call it once.
    void open();
    /// A note if it could not be read, and one if it can't be written.
    [[nodiscard]] std::vector<Reason> notes() const;

    /// The result of a target that is held back: Skipped with reason "quarantined" {driver, why,
    /// times, since_usec, until_usec, note}. nullopt when it may be probed.
    [[nodiscard]] std::optional<ProbeResult> instead_of(const ProbeTarget& target) const;
    /// Whether it may have taken the machine or the daemon down, as others may: to be asked while
    /// nothing else is, so that the next time tells.
    [[nodiscard]] bool is_suspect(const ProbeTarget& target) const;
    /// Whether nothing speaks against asking any driver.
    [[nodiscard]] bool is_clean() const { return quarantine_.is_clean(); }
    /// Call it before the workers start.
    void begin(const std::vector<ProbeTarget>& targets);
    /// Call it when the machine is known better than when that probe began.
    void confirm(const ProbeTarget& target);
    /// Call it with each result. Returns whether to probe once more, because this was the first
    /// harm.
    [[nodiscard]] bool should_retry(const ProbeTarget& target, const ProbeResult& probe);
    /// Call it with each answer that is complete while its process has to end: it did no harm yet.
    void answered(const ProbeTarget& target);
    /// Call it when no other probes run any more than these.
    void settle(const std::set<ProbeTarget>& still_running);
    /// Removes those that have ended from the file. Call it when a probe takes long, so that the
    /// others are not blamed for what it may bring down.
    void remove_ended();
    /// Whether, as far as is known, no driver has been asked since the machine booted.
    [[nodiscard]] bool is_cold() const { return quarantine_.is_cold(); }
    /// Judges the result of a probe that begin() was not called for, because its driver has
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
    /// Their keys from when they began: a driver may be replaced while it is probed.
    std::map<ProbeTarget, store::ProbeKey> running_ = {};
    std::optional<Reason> unread_ = {};
    std::optional<Reason> unkept_ = {};
};

/// Reads `api` and `driver`, or `all` (true) alone. Errors: InvalidRequest, naming the key.
Result<store::QuarantineFilter> quarantine_filter_from(const Value& object);

}  // namespace gpuprobe::engine
