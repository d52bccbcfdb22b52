// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// What surrounds the facts: none of it is looked up, so the same inputs give the same report.
struct ReportContext {
    std::uint64_t generation = 0;
    ReportState state = ReportState::Ready;
    ReportSource source = ReportSource::Live;
    WallTime now = {};
};

/// One report from what the kernel says and what the APIs say.
///
/// Devices are joined by PCI address, then DRM device number, then UUID within one driver family,
/// then a weak match that is flagged as such; never by name, never by an all-zero address or UUID.
/// What no hardware claims becomes software (CPU devices), or a GPU of its own whose address no one
/// else knows.
Report assemble(const Machine& machine,
                const std::vector<ProbeResult>& probes,
                const ReportContext& context);

}  // namespace gpuprobe::inline report
