// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backends/compute/device.h"

namespace gpuprobe::backends {

/// The kernels of compute/device.h on the processor, for the groups from
/// `first` to before `last`. There are no Fp16 and Int8: nothing that runs on
/// every processor has them. cmake compiles the implementation for speed,
/// whatever the rest is compiled for.
void run_on_cpu(Kernel kernel,
                std::span<const std::uint32_t> from,
                std::span<std::uint32_t> to,
                std::uint32_t first,
                std::uint32_t last,
                const KernelArguments& arguments);

}  // namespace gpuprobe::backends
