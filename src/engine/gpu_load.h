// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::engine {

/// How busy Intel's GPUs are with the work of all users, computed from the kernel's counters of how
/// long each part of a GPU was idle. Everybody may read these, whereas /proc/PID/fdinfo is for the
/// process's own user only.
///
/// Sources: Linux, drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c (rc6_residency_ms) and
/// drivers/gpu/drm/xe/xe_gt_idle.c (idle_residency_ms).
class IdleMeter {
public:
    /// Reads the counters of all GPUs except sleeping ones, which reading would wake.
    void look(const FileSystem& files, const Machine& machine, MonotonicTime now);
    [[nodiscard]] bool watches(const std::string& device) const { return seen_.contains(device); }

    /// How much of the time since look() the busiest part of the GPU was awake, in per cent.
    /// nullopt for a GPU without such a counter, and before kShortest has passed.
    [[nodiscard]] std::optional<std::uint64_t> percent(const FileSystem& files,
                                                       const std::string& device,
                                                       MonotonicTime now) const;

    /// The counters have a resolution of milliseconds, and an idle part takes some to fall asleep.
    static constexpr Duration kShortest = std::chrono::milliseconds{100};

private:
    /// Milliseconds asleep, by the counter's path.
    using Counters = std::map<std::string, std::uint64_t>;
    std::map<std::string, Counters> seen_ = {};  ///< by the device's id
    MonotonicTime looked_ = {};
};

/// A GPU that is busier than this is not measured: the figures would be wrong, and its users would
/// be disturbed. In per cent.
constexpr std::uint64_t kBusyPercent = 10;
/// With less free memory than this, the buffers would fit into caches.
constexpr Bytes kLeastFree = mib(256);

/// Why nothing should be measured on this machine now: `on-battery`; nullopt when there is no known
/// obstacle. Source: power_supply class (Documentation/ABI/testing/sysfs-class-power).
std::optional<Reason> obstacle_on_host(const FileSystem& files);

/// Why nothing should be measured on `gpu` now: `busy` {percent, source}, `not-enough-memory`
/// {free, need}; nullopt when there is no known obstacle.
///
/// Sources: gpu_busy_percent (Documentation/gpu/amdgpu/thermal.rst), NVML's last report, and
/// IdleMeter.
std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now);

}  // namespace gpuprobe::engine
