// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "backends/compute/device.h"
#include "backends/cuda/abi.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Opens a device with its primary context, the one that the CUDA runtime uses too. The kernels are
/// PTX, which the driver compiles, so no toolkit is needed. Refusals: `compiler-missing`,
/// `out-of-memory`, `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_cuda(const DynamicLibrary& library,
                                                  const cuda::Symbols& api,
                                                  cuda::Device device,
                                                  const DeviceFacts& facts);

/// The modules generated from kernels.ptx, as texts with a NUL after their last character.
std::string_view cuda_module_check();  ///< only Check
std::string_view cuda_module_base();   ///< Fill, Read, Copy, Fp32
std::string_view cuda_module_fp16();
std::string_view cuda_module_int8();

}  // namespace gpuprobe::backends
