// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/compute/stages.h"
#include "backends/dynamic_library.h"

namespace gpuprobe::backends {

/// The devices of a HIP runtime that has been loaded; the library must outlive what opens them.
Answer visit_hip_runtime(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit);

}  // namespace gpuprobe::backends
