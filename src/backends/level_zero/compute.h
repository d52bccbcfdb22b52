// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/compute/device.h"
#include "backends/level_zero/level_zero_abi.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// A context and a queue on that device, whose facts say what it can. The library must outlive it.
/// Refusals: `no-compute-queue`, `compiler-missing`, `build-failed`, `out-of-memory`,
/// `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_level_zero(const DynamicLibrary& library,
                                                        ze::Driver driver,
                                                        ze::Device device,
                                                        const DeviceFacts& facts);

}  // namespace gpuprobe::backends
