// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backends/backend.h"
#include "backends/compute/device.h"

namespace gpuprobe::backends {

/// The processor itself, measured in the same way as a GPU, so that the two can be compared. It has
/// no query: the inventory knows it. Its one device is "index:0".
Answer visit_cpu(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

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
