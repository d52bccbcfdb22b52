// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "backends/compute/device.h"
#include "backends/cuda/abi.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// The primary context of that device, as CUDA's own runtime would take it. The kernels are PTX, so
/// that no toolkit is needed; the driver compiles them.
/// Refusals: `compiler-missing`, `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_cuda(const DynamicLibrary& library,
                                                  const cuda::Symbols& api,
                                                  cuda::Device device,
                                                  const DeviceFacts& facts);

/// The modules that kernels.ptx is made into, as texts that end in a NUL past their length.
std::string_view cuda_module_check();  ///< Check alone
std::string_view cuda_module_base();   ///< Fill, Read, Copy, Fp32
std::string_view cuda_module_fp16();
std::string_view cuda_module_int8();

}  // namespace gpuprobe::backends
