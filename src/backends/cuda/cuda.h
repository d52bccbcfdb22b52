// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What the CUDA driver says after cuInit, without ever making a context (which would take about
/// half a gigabyte of device memory on the machines measured). What opens a device takes its
/// primary context.
Answer visit_cuda(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
