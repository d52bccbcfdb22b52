// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What Level Zero says about Intel's GPUs and, after them, NPUs. A GPU of several tiles is one
/// device. Free memory is Sysman's to know (sysman.h).
Answer visit_level_zero(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// How much memory Level Zero's system management says is there and free. An API of its own,
/// because a process that has initialised both this and the core API's old form of it crashes.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

/// What is free on the GPU at this address; nullopt where Sysman does not know, as for whoever
/// lacks CAP_PERFMON.
std::optional<Bytes> sysman_free_memory(const PciAddress& address);

constexpr const char* kLevelZeroLoader = "libze_loader.so.1";

}  // namespace gpuprobe::backends
