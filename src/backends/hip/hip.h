// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/dynamic_library.h"

namespace gpuprobe::backends {

/// What ROCm says about AMD's GPUs: by the HSA runtime, which every ROCm program loads and which
/// knows most; by the HIP runtime where that is missing. Memory is not touched.
Answer visit_rocm(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);
/// The same by the HIP runtime alone, which is what can compile: for the later stages.
Answer visit_hip(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// The GPUs among the agents of an HSA runtime that has been loaded. It opens no device: what HSA
/// runs would have to be compiled by the runtime above it.
Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
