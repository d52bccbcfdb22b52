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

namespace gpuprobe {

/// Keeps the engine from asking again what did harm: probes as store/quarantine.h knows them.
class ProbeLedger {
public:
    /// `folder`: where it is kept; it ends with this object without one. The others are borrowed.
    ProbeLedger(const FileSystem& files,
                const Machine& machine,
                const Clock& clock,
                const std::optional<std::string>& folder);

    /// Reads what the last process left; once.
    void open();
    /// One note for each way in which it does not keep what it should.
    [[nodiscard]] std::vector<Reason> notes() const;

    /// Instead of an answer, where `target` is held back: Skipped with reason "quarantined"
    /// {driver, why, times, since_usec, until_usec, note}.
    [[nodiscard]] std::optional<ProbeResult> instead_of(const ProbeTarget& target) const;
    /// Call it before the workers start.
    void begin(const std::vector<ProbeTarget>& targets);
    /// Call it with each answer. Whether to ask once more: it did harm, for the first time.
    [[nodiscard]] bool asks_again(const ProbeTarget& target, const ProbeResult& probe);
    /// Call it when none that began runs any more, but those.
    void settle(const std::set<ProbeTarget>& still_running);
    /// Takes off what has ended meanwhile: one of those that still run takes long, and what that
    /// may bring down is not the fault of the others.
    void narrow();
    /// Whether nobody has asked the drivers since the machine was started, as far as is known.
    [[nodiscard]] bool is_cold() const { return quarantine_.is_cold(); }
    /// An answer to a question beside the rounds, to a driver that has answered before: it is
    /// judged, and was not announced.
    void heard_aside(const ProbeTarget& target, const ProbeResult& probe);

    [[nodiscard]] std::vector<QuarantinedProbe> held() const { return quarantine_.held(); }
    Result<std::uint32_t> clear(const QuarantineFilter& filter) {
        return quarantine_.clear(filter);
    }

private:
    [[nodiscard]] ProbeKey key_of(const ProbeTarget& target) const;
    [[nodiscard]] bool judge(const ProbeKey& key, const ProbeResult& probe);
    void note(const Status& saved);

    const FileSystem& files_;
    const Machine& machine_;
    Quarantine quarantine_;
    /// As they were when the question was put: a driver may be replaced meanwhile.
    std::map<ProbeTarget, ProbeKey> running_ = {};
    std::optional<Reason> unread_ = {};
    std::optional<Reason> unkept_ = {};
};

/// From its named values: `api`, `driver`, or `all` (true) alone. Errors: InvalidRequest, with the
/// key at fault.
Result<QuarantineFilter> quarantine_filter_from(const Value& object);

}  // namespace gpuprobe
