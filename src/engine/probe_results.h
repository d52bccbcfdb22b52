// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probe/target.h"
#include "report/facts.h"
#include "report/report.h"

namespace gpuprobe::engine {

/// The report without values that change by themselves (instants, durations, free memory). Two
/// reports with equal stable parts are the same generation.
Report stable_part(Report report);

/// What two results of a probe have in common if nothing has changed between them: the outcome, and
/// the devices' facts without momentary ones.
Value stable_part(const ProbeResult& result);

/// The reason of a driver that reports something else each time: {driver, since_usec}.
constexpr ReasonCode kUnstable = "unstable";

/// Tells a driver that reports something else each time from one whose machine has changed.
///
/// A changed machine gives the same result twice. So when a result differs from the previous one,
/// the driver is asked once more, and when that result differs again, the driver is unstable. Of an
/// unstable driver the result that promises less is accepted, until three results in a row agree.
class StabilityCheck {
public:
    struct Verdict {
        ProbeResult accepted = {};
        bool ask_again = false;
    };
    /// `result` is the newest one; `accepted` is what was accepted so far, null when nothing was.
    /// The accepted result of an unstable driver has the reason kUnstable. Only queries that were
    /// answered, or whose API is absent, are compared.
    [[nodiscard]] Verdict check(ProbeResult result, const ProbeResult* accepted);
    /// `result` is what was accepted before this program started. The next one is compared with it,
    /// and until then its digest, a tenth of what a start from the cache takes, is not made.
    void begin_with(const ProbeResult& result);
    /// The machine has changed, so results may differ.
    void machine_changed() { last_.clear(); }

private:
    struct Last {
        std::string digest = {};  ///< empty: the accepted result's
        int in_a_row = 1;         ///< results that agreed with each other
        bool is_doubted = false;
    };
    /// By API and driver.
    std::map<std::pair<std::string, std::string>, Last> last_ = {};
};

/// The last result of each probe.
class ProbeResults {
public:
    /// Replaces an older result.
    void put(ProbeResult probe);
    /// Like put(), except that a result which was skipped, for instance because the device sleeps,
    /// does not replace an answered one: its facts stay, with their age. A kept verification or
    /// measurement gets the reasons of the skipped one.
    void keep(ProbeResult probe);
    void forget(const ProbeTarget& target);
    /// The machine has changed: results from before do not count when a driver can't be asked.
    void machine_changed();
    /// Forgets the results of drivers that are no longer installed, and takes those of drivers that
    /// can't be asked.
    void keep_only(const TargetSearch& search);

    [[nodiscard]] const ProbeResult* find(const ProbeTarget& target) const;
    [[nodiscard]] std::vector<ProbeResult> all() const;
    /// Whether a probe crashed, timed out or is unstable, or its driver is in quarantine.
    [[nodiscard]] bool any_went_badly() const;

    /// The results that a later start may use: answered or absent ones that the report does not
    /// contradict, and the earlier result of a driver whose last probe could not be run to its end.
    [[nodiscard]] std::vector<ProbeResult> worth_caching(const Report& report) const;

private:
    /// API, driver, stage and device.
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    void remember_earlier(const Key& key);

    std::map<Key, ProbeResult> probes_ = {};
    /// The earlier result of each probe that could not be run to its end (was_never_heard).
    std::map<Key, ProbeResult> earlier_ = {};
    std::set<Key> outdated_ = {};  ///< whose results are from before the machine changed
};

}  // namespace gpuprobe::engine
