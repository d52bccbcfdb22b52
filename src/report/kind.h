// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The role of a subject, judged by the hardware and the API records. If the class of a function
/// does not decide the role, the function is a GPU if a GPU API lists its address.
JudgedRole judge_role(const Subject& subject);
Role role_of(const Subject& subject);

/// Whether a GPU is discrete, integrated or virtual, by the strongest available evidence:
///
/// 1. the role, and the list of devices that hypervisors emulate;
/// 2. the type from an API. Vulkan comes first and OpenCL last, because OpenCL reports only whether
///    memory is shared;
/// 3. properties that amdgpu shows: a KFD node with CPU cores and SIMDs is an APU, and so is a
///    device with the sensor vddnb. A device with only other sensors, or with board information, is
///    a card;
/// 4. the chip table;
/// 5. Intel's rule: the GPU at 0000:00:02.0 is integrated, any other GPU is discrete;
/// 6. AMD's rules: classes 0302 and 1200 are cards, and so is a device with a known memory vendor.
///    A GPU with at most 4 GiB of VRAM, at least 8 GiB of GTT and at least four times as much GTT
///    as VRAM is an APU. A GPU with other memory sizes, or with class 0380, is a card;
/// 7. NVIDIA's rules: a GPU with the name of a system on a chip is integrated, other PCI functions
///    are discrete. If the hardware is hidden, a GPU whose memory NVML reports is a card, because
///    NVML reports no memory for systems on a chip;
/// 8. devices from the device tree are integrated.
///
/// Sources: Vulkan VkPhysicalDeviceType; data/knowledge/chips.json; fastfetch and nvtop for Intel's
/// address, nvtop for NVML's memory; amdgpu_pm.c for AMD's sensors; ollama for AMD's memory rule.
struct JudgedKind {
    GpuKind kind = GpuKind::Unknown;
    Basis basis = Basis::Rule;
};
JudgedKind judge_kind(const Subject& subject);
GpuKind kind_of(const Subject& subject);

/// Whether processor and GPU share one memory without a carve-out, according to the chip table:
/// Instinct MI300A (whose KFD nodes are separate), GB10, Apple's chips.
bool shares_all_memory(const HardwareDevice& hardware);

}  // namespace gpuprobe::inline report
