// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/files.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe {

/// A GPU that others use for more of its time than this is not measured: neither would the figures
/// be its own, nor the others undisturbed. In per cent.
constexpr std::uint64_t kBusyPercent = 10;
/// Less free memory than this leaves no buffer that caches do not hold.
constexpr Bytes kLeastFree = mib(256);

/// Why nothing should be measured now, on `gpu` or, without one, on the host: `on-battery`, `busy`
/// {percent, source}, `not-enough-memory` {free, need}. nullopt when nothing is known that speaks
/// against it.
///
/// Sources: power_supply class (Documentation/ABI/testing/sysfs-class-power), gpu_busy_percent
/// (Documentation/gpu/amdgpu/thermal.rst), and what NVML said last.
std::optional<Reason> obstacle_to_measuring(const FileSystem& files,
                                            const Machine& machine,
                                            const Gpu* gpu);

}  // namespace gpuprobe
