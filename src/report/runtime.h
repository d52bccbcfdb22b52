// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// Each API on this machine. The outcome is the one of its best driver: answered, else failed,
/// timed out, crashed, skipped or absent, in this order.
std::map<std::string, RuntimeInfo> runtimes_of(const std::vector<const ProbeResult*>& probes);

/// The mechanisms that confined all probed drivers; nullopt if no worker reported them.
std::optional<std::vector<std::string>> confinement_of(
    const std::vector<const ProbeResult*>& probes);

/// The probes in the form that the report lists.
std::vector<ProbeEntry> probe_entries(const std::vector<const ProbeResult*>& probes);

}  // namespace gpuprobe::inline report
