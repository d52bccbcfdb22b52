// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// Data about the report itself. assemble() gets all its data through its parameters, so equal
/// inputs give equal reports.
struct ReportContext {
    std::uint64_t generation = 0;
    ReportState state = ReportState::Ready;
    ReportSource source = ReportSource::Live;
    WallTime now = {};
};

/// Makes one report from the inventory and the probes.
///
/// Devices are joined by PCI address, then DRM device number, then UUID within one driver family,
/// then by a weak match that is marked as weak; never by name, and never by an all-zero address or
/// UUID. Records without hardware become software devices (CPU implementations), or separate GPUs,
/// whose address only APIs report.
Report assemble(const Machine& machine,
                const std::vector<ProbeResult>& probes,
                const ReportContext& context);

}  // namespace gpuprobe::inline report
