// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/facts.h"
#include "report/report.h"

namespace gpuprobe {

/// The report without what changes although nothing did (instants, durations, free memory): two
/// reports that agree in the rest are one generation.
Report lasting_part(Report report);

/// What a driver's answer has in common with its next one where nothing has changed: how it ended,
/// and the facts of its devices but for those of the moment.
Value lasting_part(const ProbeResult& answer);

}  // namespace gpuprobe
