// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What Level Zero says about Intel's GPUs and, after them, NPUs. A GPU of several tiles is one
/// device. Free memory is Sysman's to know (sysman.h).
Answer visit_level_zero(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
