// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Visits the devices of the CUDA driver after cuInit, without creating a context, which would use
/// about half a gigabyte of device memory on the machines measured. Only opening a device uses its
/// primary context.
Answer visit_cuda(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
