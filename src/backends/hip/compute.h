// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "backends/compute/device.h"
#include "backends/hip/abi.h"

namespace gpuprobe::backends {

/// A device of HIP's runtime, by its number there. The kernels are those of OpenCL C, which hiprtc
/// compiles for the GPU at hand. There is none for bytes: HIP has no dot product that all GPUs
/// take. Refusals: `compiler-missing` without libhiprtc; `out-of-memory`, `device-lost`,
/// `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_hip(const DynamicLibrary& library,
                                                 const hip::Symbols& api,
                                                 hip::Device device);

/// hip/preamble.hip, as it was when this was built.
std::string_view hip_preamble();

}  // namespace gpuprobe::backends
