// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backends/backend.h"
#include "backends/compute/device.h"

namespace gpuprobe::backends {

/// Visits the processor. A processor is measured like a GPU, so that the rates of both can be
/// compared. The CPU backend has no query stage, because the inventory already provides the facts.
/// The only device is "index:0".
Answer visit_cpu(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Runs a kernel of compute/device.h on the processor, for the groups from `first` up to but not
/// including `last`. Kernel::Fp16 and Kernel::Int8 run only on GPUs, because not every processor
/// has instructions for them. CMake always compiles the implementation for speed, regardless of the
/// build type.
void run_on_cpu(Kernel kernel,
                std::span<const std::uint32_t> from,
                std::span<std::uint32_t> to,
                std::uint32_t first,
                std::uint32_t last,
                const KernelArguments& arguments);

}  // namespace gpuprobe::backends
