// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Reports the facts from the NVIDIA management library: identity, memory with the reserved part
/// separately, compute capability, MIG. Needs no CUDA, uses no device memory, and took a tenth of
/// the time of cuInit on the machines measured.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

/// Reports the fact `processes`: the processes with a context on each device and the memory they
/// use; null if NVML does not report them. The process ids belong to this process's PID namespace,
/// and processes outside it are left out, because nvidia.ko translates the ids
/// (open-gpu-kernel-modules, kernel-open/nvidia/os-interface.c, os_find_ns_pid). Old drivers report
/// the ids of the initial namespace.
Answer list_nvml_processes(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at this address; nullopt if unknown. Queries only this GPU, because
/// each one takes NVML some milliseconds.
std::optional<Bytes> nvml_free_memory(const PciAddress& address);
/// The free memory of the MIG instance with that UUID; nullopt if unknown.
std::optional<Bytes> nvml_free_memory(const std::string& uuid);

}  // namespace gpuprobe::backends
