// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// What a subject is, now that its claims are known: a function whose class says nothing is a GPU
/// when a GPU API lists it by address.
JudgedRole judge_role(const Subject& subject);
Role role_of(const Subject& subject);

/// Discrete, integrated or virtual, by the strongest evidence there is:
///
/// 1. the role, and hypervisors' devices;
/// 2. the type an API gives, Vulkan first, OpenCL last (it only knows shared memory);
/// 3. what amdgpu shows: a KFD node with CPU cores and SIMDs is an APU, and so is what has the
/// sensor
///    vddnb; what has other sensors only, or a board's information, is a card;
/// 4. the table of chips;
/// 5. Intel: the GPU at 0000:00:02.0 is integrated, any other discrete;
/// 6. AMD: 0302 and 1200 are cards, and so is what has named memory; no more than 4 GiB of VRAM
///    beside at least 8 GiB and four times as much GTT is an APU; other VRAM, and 0380, is a card;
/// 7. NVIDIA: the names of its systems on a chip are integrated, other functions on PCI discrete;
///    where those are hidden, memory that NVML knows is a card's (it has none on such systems);
/// 8. what the device tree names is integrated.
///
/// Sources: Vulkan VkPhysicalDeviceType; data/knowledge/chips.json; fastfetch and nvtop for Intel's
/// address, nvtop for NVML's memory; amdgpu_pm.c for AMD's sensors; ollama for AMD's memory rule.
struct JudgedKind {
    GpuKind kind = GpuKind::Unknown;
    Basis basis = Basis::Rule;
};
JudgedKind judge_kind(const Subject& subject);
GpuKind kind_of(const Subject& subject);

/// Processor and GPU on one memory, of which nothing is set aside, by the table of chips: Instinct
/// MI300A (whose KFD nodes are apart), GB10, Apple's.
bool shares_all_memory(const HardwareDevice& hardware);

}  // namespace gpuprobe::inline report
