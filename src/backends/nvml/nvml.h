// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe {

/// What the NVIDIA management library says: identity, memory with the reserve apart, compute
/// capability, MIG. It needs no CUDA and takes no device memory; a tenth of cuInit's time on the
/// machines measured.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe
