// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Visits Intel's GPUs, then its NPUs. A GPU with several tiles is one device. The free memory
/// comes from query_level_zero_sysman().
Answer visit_level_zero(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Reports the total and free memory according to Level Zero's system management (Sysman). This is
/// a separate API, because a process crashes if it initializes both Sysman and the old form of it
/// in the core API.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at this address according to Sysman; nullopt if unknown, for example
/// without CAP_PERFMON.
std::optional<Bytes> sysman_free_memory(const PciAddress& address);

constexpr const char* kLevelZeroLoader = "libze_loader.so.1";

}  // namespace gpuprobe::backends
