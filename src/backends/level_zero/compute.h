// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "backends/compute/device.h"
#include "backends/level_zero/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Opens a device with a context and a queue; its capabilities come from `facts`. The library must
/// outlive it.
/// Refusals: `no-compute-queue`, `compiler-missing`, `build-failed`, `out-of-memory`,
/// `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_level_zero(const DynamicLibrary& library,
                                                        ze::Driver driver,
                                                        ze::Device device,
                                                        const DeviceFacts& facts);

/// The modules of kernels.spvasm, assembled by spirv-as at build time.
std::span<const unsigned char> level_zero_module_check();   ///< only Check
std::span<const unsigned char> level_zero_module_memory();  ///< Fill, Read, Copy
std::span<const unsigned char> level_zero_module_fp32();
std::span<const unsigned char> level_zero_module_fp16();
std::span<const unsigned char> level_zero_module_int8();

}  // namespace gpuprobe::backends
