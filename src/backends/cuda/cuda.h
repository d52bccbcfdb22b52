// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What the CUDA driver says after cuInit, without ever making a context (which would take about
/// half a gigabyte of device memory on the machines measured).
Answer query_cuda(const ProbeTarget& target, Sink& sink);
/// The later stages of one device, in its primary context.
Answer verify_cuda(const ProbeTarget& target, Sink& sink);
Answer measure_cuda(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
