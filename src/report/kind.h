// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe {

/// What a subject is, now that its claims are known: a function whose class says nothing is a GPU
/// when a GPU API lists it by address.
JudgedRole judge_role(const Subject& subject);
Role role_of(const Subject& subject);

/// Discrete, integrated or virtual, by the strongest evidence there is:
///
/// 1. the role, and hypervisors' devices;
/// 2. the table of chips, unless an API says virtual (a part of a card, in a guest);
/// 3. the type an API gives, Vulkan first, OpenCL last (it only knows shared memory);
/// 4. Intel: the GPU at 0000:00:02.0 is integrated, any other discrete;
/// 5. AMD: MI300A, a KFD node with CPU cores and SIMDs is an APU, and so is what has the sensor
/// vddnb; 0302
///    and 1200 are cards, and so is what has other sensors only, named memory or a board's
///    information; no more than 4 GiB of VRAM beside at least 8 GiB and four times as much GTT is
///    an APU; other VRAM, and 0380, is a card;
/// 6. NVIDIA: the names of its systems on a chip are integrated, other functions on PCI discrete;
///    where those are hidden, memory that NVML knows is a card's (it has none on such systems);
/// 7. what the device tree names is integrated.
///
/// Sources: Vulkan VkPhysicalDeviceType; fastfetch and nvtop for Intel's address, nvtop for NVML's
/// memory; amdgpu_pm.c for
/// AMD's sensors, which has no limit on the carve-out; ollama for AMD's memory rule.
struct JudgedKind {
    GpuKind kind = GpuKind::Unknown;
    Basis basis = Basis::Rule;
};
JudgedKind judge_kind(const Subject& subject);
GpuKind kind_of(const Subject& subject);

/// Processor and GPU on one memory, of which nothing is set aside, by the table of chips: Instinct
/// MI300A (whose KFD nodes are apart), GB10, Apple's.
bool shares_all_memory(const HardwareDevice& hardware);

}  // namespace gpuprobe
