// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// An API without a library behind it: one device, as its driver would tell it.
Answer query_demo(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
