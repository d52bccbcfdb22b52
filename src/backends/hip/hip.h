// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/dynamic_library.h"

namespace gpuprobe::backends {

/// Visits AMD's GPUs through ROCm: through the HSA runtime, which every ROCm program loads and
/// which reports the most facts, or through the HIP runtime if that is missing. Uses no device
/// memory.
Answer visit_rocm(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);
/// Visits the same GPUs only through the HIP runtime, which can compile kernels: for the later
/// stages.
Answer visit_hip(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Visits the GPUs among the agents of a loaded HSA runtime. These devices cannot be opened for
/// computing, because HSA has no compiler; that is in the HIP runtime.
Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
