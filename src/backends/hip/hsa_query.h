// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/dynamic_library.h"

namespace gpuprobe::backends {

/// The GPUs among the agents of an HSA runtime that has been loaded.
Answer query_hsa(const DynamicLibrary& library, Sink& sink);

}  // namespace gpuprobe::backends
