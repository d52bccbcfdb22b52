// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe {

/// What a subject is, now that its claims are known: a function whose class says nothing is a GPU
/// when a GPU API lists it by address.
Role role_of(const Subject& subject);

/// Discrete, integrated or virtual, by the strongest evidence there is:
///
/// 1. the role, and hypervisors' devices;
/// 2. the type an API gives, Vulkan first, OpenCL last (it only knows shared memory);
/// 3. Intel: the GPU at 0000:00:02.0 is integrated, any other discrete;
/// 4. AMD: a KFD node with CPU cores is an APU; 0302 and 1200 are cards; no more than 4 GiB of VRAM
///    of no maker's name beside at least 8 GiB and four times as much GTT is an APU; other
///    VRAM, and 0380, is a card;
/// 5. NVIDIA on PCI is discrete; what the device tree names is integrated.
///
/// Sources: Vulkan VkPhysicalDeviceType; fastfetch and nvtop for Intel's address; ollama for AMD's
/// memory rule.
GpuKind kind_of(const Subject& subject);

}  // namespace gpuprobe
