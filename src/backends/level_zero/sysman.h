// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe {

/// How much memory Level Zero's system management says is there and free. An API of its own,
/// because a process that has initialised both this and the core API's old form of it crashes.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe
