// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "inventory/scan.h"
#include "probe/target.h"
#include "report/report.h"
#include "store/probe_cache.h"

namespace gpuprobe {

/// The last answer of each probe.
class KnownAnswers {
public:
    /// An answer as it is, in place of an older one.
    void put(ProbeResult probe);
    /// The same, but facts that are known stay, with their age, when the device sleeps now. What
    /// was computed or measured then has the reasons of the probe that was not run.
    void keep(ProbeResult probe);
    void forget(const ProbeTarget& target);
    /// The machine has changed: an answer that nobody could ask for again is one of another.
    void machine_changed();
    /// Forgets what no target offers: a driver that is no longer installed has no say. What
    /// announced itself and can't be used has its answer already.
    void keep_only(const TargetSearch& search);

    [[nodiscard]] const ProbeResult* find(const ProbeTarget& target) const;
    [[nodiscard]] std::vector<ProbeResult> all() const;
    [[nodiscard]] bool empty() const { return probes_.empty(); }
    /// Whether a probe crashed, did not end in time, or says something else each time.
    [[nodiscard]] bool any_went_badly() const;

    /// Those that a later start may rely on: neither failed nor in contradiction to the report. Of
    /// a driver that nobody could ask to the end, what it said before.
    [[nodiscard]] std::vector<ProbeResult> worth_caching(const Report& report) const;

private:
    /// API, driver, stage and device.
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    void set_aside(const Key& key);

    std::map<Key, ProbeResult> probes_ = {};
    /// What was known in place of each that was never heard (was_never_heard).
    std::map<Key, ProbeResult> unrefuted_ = {};
    std::set<Key> of_before_ = {};  ///< whose answers are of before the machine changed
};

}  // namespace gpuprobe
