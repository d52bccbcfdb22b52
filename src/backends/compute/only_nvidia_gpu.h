// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "probe/target.h"

namespace gpuprobe::backends {

/// The UUID of the NVIDIA GPU that a later stage is about, "GPU-…", as the kernel's driver tells
/// it. nullopt for another vendor's, for one that has not been started yet, and for one in MIG
/// mode, whose instances have UUIDs of their own.
/// Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c.
std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target);

/// Hides the others from NVIDIA's CUDA and OpenCL, which start every GPU that they see: about 0.2 s
/// each (580.159, H200). Before the driver is loaded; a choice of the caller's stays.
void start_only_wanted(const ProbeTarget& target);

}  // namespace gpuprobe::backends
