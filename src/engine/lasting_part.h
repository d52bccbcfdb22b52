// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/report.h"

namespace gpuprobe {

/// The report without what changes although nothing did (instants, durations, free memory): two
/// reports that agree in the rest are one generation.
Report lasting_part(Report report);

}  // namespace gpuprobe
