// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "backends/compute/accelerator.h"
#include "backends/level_zero/level_zero_abi.h"

namespace gpuprobe {

/// A context and a queue on that device. It has Kernel::Check alone, so that it can verify and not
/// measure. The library must outlive it.
/// Refusals: `no-compute-queue`, `compiler-missing`, `build-failed`, `out-of-memory`,
/// `device-lost`, `api-refused`.
Attempt<std::unique_ptr<Accelerator>> open_level_zero(const DynamicLibrary& library,
                                                      ze::Driver driver,
                                                      ze::Device device);

/// check.spvasm, as spirv-as made it when this was built.
std::span<const unsigned char> level_zero_check();

}  // namespace gpuprobe
