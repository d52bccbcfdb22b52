// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/units.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::engine {

/// Measures how busy Intel GPUs are with the work of all users, from the kernel's counters of how
/// long each part of a GPU was idle. All users may read these counters, but only a process's own
/// user may read its /proc/PID/fdinfo.
///
/// Sources: Linux, drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c (rc6_residency_ms) and
/// drivers/gpu/drm/xe/xe_gt_idle.c (idle_residency_ms).
class IdleMeter {
public:
    /// Reads the counters of all GPUs except sleeping ones, because reading would wake them.
    void look(const FileSystem& files, const Machine& machine, MonotonicTime now);
    [[nodiscard]] bool watches(const std::string& device) const { return seen_.contains(device); }

    /// The share of the time since look() in which the busiest part of the GPU was awake, in
    /// percent. nullopt for a GPU without such a counter, and before kShortest has passed.
    [[nodiscard]] std::optional<std::uint64_t> percent(const FileSystem& files,
                                                       const std::string& device,
                                                       MonotonicTime now) const;

    /// The counters have a resolution of milliseconds, and an idle part needs a few milliseconds to
    /// fall asleep.
    static constexpr Duration kShortest = std::chrono::milliseconds{100};

private:
    /// Milliseconds asleep, by path of the counter.
    using Counters = std::map<std::string, std::uint64_t>;
    std::map<std::string, Counters> seen_ = {};  ///< by id of the device
    MonotonicTime looked_ = {};                  ///< when look() was called
};

/// A GPU that is busier than this, in percent, is not measured: the figures would be wrong, and its
/// users would be disturbed.
constexpr std::uint64_t kBusyPercent = 10;
/// A GPU with less free memory than this is not measured: the buffers would fit into caches.
constexpr Bytes kLeastFree = mib(256);

/// Why nothing should be measured on this machine now: `on-battery`. nullopt without a known
/// obstacle. Source: power_supply class (Documentation/ABI/testing/sysfs-class-power).
std::optional<Reason> obstacle_on_host(const FileSystem& files);

/// Why nothing should be measured on `gpu` now: `busy` {percent, source}, `not-enough-memory`
/// {free, need}. nullopt without a known obstacle.
///
/// Sources: gpu_busy_percent (Documentation/gpu/amdgpu/thermal.rst), NVML's last report, and
/// IdleMeter.
std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now);

}  // namespace gpuprobe::engine
