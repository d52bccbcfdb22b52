// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/dynamic_library.h"

namespace gpuprobe {

/// The devices of a HIP runtime that has been loaded.
Answer query_hip_runtime(const DynamicLibrary& library, Sink& sink);

}  // namespace gpuprobe
