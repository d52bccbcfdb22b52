// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cache/store.h"
#include "inventory/scan.h"
#include "probe/target.h"
#include "report/report.h"

namespace gpuprobe {

/// The last answer of each probe.
class KnownAnswers {
public:
    /// An answer as it is, in place of an older one.
    void put(ProbeResult probe);
    /// The same, but facts that are known stay, with their age, when the device sleeps now, or when
    /// no worker could ask to the end, which is then among their reasons. What was computed or
    /// measured then has the reasons of the probe that was not run.
    void keep(ProbeResult probe);
    void forget(const ProbeTarget& target);
    /// Forgets what no target offers: a driver that is no longer installed has no say. What
    /// announced itself and can't be used has its answer already.
    void keep_only(const TargetSearch& search);

    [[nodiscard]] const ProbeResult* find(const ProbeTarget& target) const;
    [[nodiscard]] std::vector<ProbeResult> all() const;
    [[nodiscard]] bool empty() const { return probes_.empty(); }
    /// Whether a probe crashed, did not end in time, or says something else each time.
    [[nodiscard]] bool any_went_badly() const;

    /// Those that a later start may rely on: neither failed nor in contradiction to the report.
    [[nodiscard]] std::vector<ProbeResult> worth_caching(const Report& report) const;

private:
    /// API, driver, stage and device.
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    std::map<Key, ProbeResult> probes_ = {};
};

}  // namespace gpuprobe
