// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/compute/device.h"
#include "backends/cuda/cuda_abi.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// The primary context of that device, as CUDA's own runtime would take it. The kernels are PTX, so
/// that no toolkit is needed; the driver compiles them.
/// Refusals: `compiler-missing`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_cuda(const DynamicLibrary& library,
                                                  const cuda::Symbols& api,
                                                  cuda::Device device,
                                                  const DeviceFacts& facts);

}  // namespace gpuprobe::backends
