// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/bytes.h"

namespace gpuprobe::backends {

/// What the host could give without swapping. Source: proc(5), /proc/meminfo, MemAvailable.
std::optional<Bytes> free_host_memory();

}  // namespace gpuprobe::backends
