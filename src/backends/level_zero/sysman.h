// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// How much memory Level Zero's system management says is there and free. An API of its own,
/// because a process that has initialised both this and the core API's old form of it crashes.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

/// What is free on the GPU at this address; nullopt where Sysman does not know, as for whoever
/// lacks CAP_PERFMON.
std::optional<Bytes> sysman_free_memory(const PciAddress& address);

}  // namespace gpuprobe::backends
