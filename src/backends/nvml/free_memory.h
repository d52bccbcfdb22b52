// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/compute/attempt.h"
#include "base/bytes.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// What NVML says is free on an NVIDIA GPU; nullopt on any other, and where NVML does not know.
/// Refuses with `out-of-memory` under kMinNvidiaFree: asked before a context is made, which takes
/// half a gigabyte itself, and whoever has the rest would feel it.
Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts);

/// Measured on an H200: a CUDA context takes 523 MiB.
constexpr Bytes kMinNvidiaFree = gib(1);

}  // namespace gpuprobe::backends
