// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "backends/compute/device.h"
#include "backends/hip/abi.h"

namespace gpuprobe::backends {

/// Opens a device of the HIP runtime, by its number there. The kernels are the OpenCL C kernels
/// with hip/preamble.hip; hiprtc compiles them for the GPU. The kernel for bytes fails to build on
/// GPUs without a dot product instruction. Refusals: `compiler-missing` without libhiprtc;
/// `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_hip(const DynamicLibrary& library,
                                                 const hip::Symbols& api,
                                                 hip::Device device);

/// The text of hip/preamble.hip, embedded at build time.
std::string_view hip_preamble();

}  // namespace gpuprobe::backends
