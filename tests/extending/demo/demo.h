// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Reports one device like a driver would, for an API that has no library.
Answer query_demo(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
