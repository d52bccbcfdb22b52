// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe {

/// How busy Intel's GPUs are, whoever uses them: by the kernel's counters of the time for which
/// each part of one slept, which everybody may read. (What each process used, in
/// /proc/PID/fdinfo, is for its own user.)
///
/// Sources: Linux, drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c (rc6_residency_ms) and
/// drivers/gpu/drm/xe/xe_gt_idle.c (idle_residency_ms).
class IdleMeter {
public:
    /// Reads the counters of the machine's GPUs, but of those that reading would wake.
    void look(const FileSystem& files, const Machine& machine, MonotonicTime now);
    [[nodiscard]] bool watches(const std::string& device) const { return seen_.contains(device); }

    /// For how much of the time since that look the busiest part was awake, in per cent. nullopt
    /// for what has no such counter, and after less than kShortest.
    [[nodiscard]] std::optional<std::uint64_t> percent(const FileSystem& files,
                                                       const std::string& device,
                                                       MonotonicTime now) const;

    /// The counters count milliseconds, and parts fall asleep after some.
    static constexpr Duration kShortest = std::chrono::milliseconds{100};

private:
    /// Milliseconds asleep, by the counter's path.
    using Counters = std::map<std::string, std::uint64_t>;
    std::map<std::string, Counters> seen_ = {};  ///< by the device's id
    MonotonicTime looked_ = {};
};

}  // namespace gpuprobe
