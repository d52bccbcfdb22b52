// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What the NVIDIA management library says: identity, memory with the reserve apart, compute
/// capability, MIG. It needs no CUDA and takes no device memory; a tenth of cuInit's time on the
/// machines measured.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

/// Who has a context on each device and how much of its memory: the fact `processes`, null where
/// NVML does not tell. The ids are those of this process's PID namespace; a process outside it is
/// left out (nvidia.ko translates them; open-gpu-kernel-modules, kernel-open/nvidia/os-interface.c,
/// os_find_ns_pid) or, with an old driver, has the id of the first namespace.
Answer list_nvml_processes(const ProbeTarget& target, Sink& sink);

/// What is free on the GPU at this address, and on no other: NVML takes some milliseconds for each
/// that it is asked about. nullopt where it does not know.
std::optional<Bytes> nvml_free_memory(const PciAddress& address);
/// Of the MIG instance with that UUID.
std::optional<Bytes> nvml_free_memory(const std::string& uuid);

}  // namespace gpuprobe::backends
