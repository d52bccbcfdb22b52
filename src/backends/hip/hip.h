// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What ROCm says about AMD's GPUs: by the HSA runtime, which every ROCm program loads and which
/// knows most; by the HIP runtime where that is missing. Memory is not touched.
Answer query_hip(const ProbeTarget& target, Sink& sink);
/// The later stages of one device, by the HIP runtime, which alone can compile.
Answer verify_hip(const ProbeTarget& target, Sink& sink);
Answer measure_hip(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
