// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe {

/// What Level Zero says about Intel's GPUs and, after them, NPUs. A GPU of several tiles is one
/// device. Free memory is Sysman's to know (sysman.h).
Answer query_level_zero(const ProbeTarget& target, Sink& sink);
/// One small kernel on one device. There is no measure: it would take the other six in SPIR-V for
/// OpenCL, which no compiler of ours makes.
Answer verify_level_zero(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe
