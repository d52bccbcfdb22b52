// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/files.h"
#include "base/units.h"

namespace gpuprobe::backends {

/// Reports the facts from NVML, NVIDIA's management library: identity, memory (with the reserved
/// part as a separate fact), compute capability and MIG. NVML does not need CUDA and uses no device
/// memory. On the machines that were measured, NVML took a tenth of the time of cuInit.
Answer query_nvml(const ProbeTarget& target, Sink& sink);

/// Reports the fact `processes`: the processes with a context on each device, and the memory that
/// each process uses. The fact is null if NVML does not report it. The process ids belong to this
/// process's PID namespace, and processes outside this namespace are left out, because nvidia.ko
/// translates the ids (open-gpu-kernel-modules, kernel-open/nvidia/os-interface.c, os_find_ns_pid).
/// Old drivers report the ids of the initial namespace.
Answer list_nvml_processes(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at `address`; nullopt if unknown. The function queries only this GPU,
/// because NVML needs some milliseconds for each GPU.
std::optional<Bytes> nvml_free_memory(const PciAddress& address);
/// The free memory of the MIG instance with the UUID `uuid`; nullopt if unknown.
std::optional<Bytes> nvml_free_memory(const std::string& uuid);

// Call the following functions before you open an NVIDIA GPU through any API.

/// The UUID ("GPU-…") of the NVIDIA GPU that the target names by address, as reported by the kernel
/// driver; for a target "uuid:MIG-…", the UUID in the target. nullopt for GPUs of other vendors,
/// for a GPU that has not been initialized yet, and for the address of a GPU in MIG mode, because
/// its instances have separate UUIDs.
/// Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c.
std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target);

/// In the later stages, hides all GPUs except the target's GPU from NVIDIA's CUDA and OpenCL, which
/// initialize every visible GPU. Initializing a GPU takes about 0.2 s (driver 580.159, H200). Call
/// this function before the driver is loaded. An existing CUDA_VISIBLE_DEVICES is kept.
void start_only_wanted(const ProbeTarget& target);

/// The free memory of an NVIDIA GPU according to NVML; nullopt for other GPUs, or if NVML does not
/// report the free memory. Call this function before creating a context, which uses half a
/// gigabyte. Refusals: `out-of-memory` if less than kMinNvidiaFree is free, because the context
/// would take memory that other processes on the GPU need.
Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts);

/// The free memory required for a context. On an H200, a CUDA context uses 523 MiB.
constexpr Bytes kMinNvidiaFree = gib(1);

}  // namespace gpuprobe::backends
