// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/bytes.h"
#include "base/files.h"

/// What every API that runs on NVIDIA's driver sees to before it opens a GPU.
namespace gpuprobe::backends {

/// The UUID of the NVIDIA GPU that a later stage is about, "GPU-…", as the kernel's driver tells
/// it. nullopt for another vendor's, for one that has not been started yet, and for one in MIG
/// mode, whose instances have UUIDs of their own: of "uuid:MIG-…" that UUID.
/// Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c.
std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target);

/// In the later stages, hides the other GPUs from NVIDIA's CUDA and OpenCL, which start every GPU
/// that they see: about 0.2 s each (580.159, H200). To be called before the driver is loaded; a
/// choice of the caller's stands.
void start_only_wanted(const ProbeTarget& target);

/// What NVML says is free on an NVIDIA GPU; nullopt on any other, and where NVML does not know.
/// Refuses with `out-of-memory` under kMinNvidiaFree: asked before a context is made, which takes
/// half a gigabyte itself, and whoever has the rest would feel it.
Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts);

/// Measured on an H200: a CUDA context takes 523 MiB.
constexpr Bytes kMinNvidiaFree = gib(1);

}  // namespace gpuprobe::backends
