// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// Each API on this machine. Its outcome is that of its best driver: one that answered, else one
/// that failed, hung, crashed, was skipped, or is absent, in this order.
std::map<std::string, RuntimeInfo> runtimes_of(const std::vector<const ProbeResult*>& probes);

/// What held all drivers that were asked; nullopt where no worker said.
std::optional<std::vector<std::string>> confinement_of(
    const std::vector<const ProbeResult*>& probes);

/// The probes as the report lists them.
std::vector<ProbeEntry> probe_entries(const std::vector<const ProbeResult*>& probes);

}  // namespace gpuprobe::inline report
