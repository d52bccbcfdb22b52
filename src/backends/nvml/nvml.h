// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace gpuprobe::backends {

/// What the NVIDIA management library says: identity, memory with the reserve apart, compute
/// capability, MIG. It needs no CUDA and takes no device memory; a tenth of cuInit's time on the
/// machines measured.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

/// What is free on the GPU at this address, and on no other: NVML takes some milliseconds for each
/// that it is asked about. nullopt where it does not know.
std::optional<Bytes> nvml_free_memory(const PciAddress& address);
/// Of the MIG instance with that UUID.
std::optional<Bytes> nvml_free_memory(const std::string& uuid);

}  // namespace gpuprobe::backends
