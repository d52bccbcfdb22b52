// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// The processor itself, by the same method as a GPU, so that the two can be
/// compared. It has no query: the inventory knows it. Its one device is
/// "index:0".
Answer verify_cpu(const ProbeTarget& target, Sink& sink);
Answer measure_cpu(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
