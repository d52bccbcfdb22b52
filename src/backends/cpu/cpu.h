// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// The processor itself, measured in the same way as a GPU, so that the two can be compared. It has
/// no query: the inventory knows it. Its one device is "index:0".
Answer visit_cpu(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
