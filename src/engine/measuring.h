// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/files.h"
#include "engine/idle_meter.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe {

/// A GPU that others use for more of its time than this is not measured: neither would the figures
/// be its own, nor the others undisturbed. In per cent.
constexpr std::uint64_t kBusyPercent = 10;
/// Less free memory than this leaves no buffer that caches do not hold.
constexpr Bytes kLeastFree = mib(256);

/// Why nothing should be measured on this machine now: `on-battery`. nullopt when nothing is known
/// that speaks against it. Source: power_supply class (Documentation/ABI/testing/
/// sysfs-class-power).
std::optional<Reason> obstacle_on_host(const FileSystem& files);

/// Why nothing should be measured on `gpu` now: `busy` {percent, source}, `not-enough-memory`
/// {free, need}. nullopt as above.
///
/// Sources: gpu_busy_percent (Documentation/gpu/amdgpu/thermal.rst), what NVML said last, and
/// idle_meter.h.
std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now);

}  // namespace gpuprobe
