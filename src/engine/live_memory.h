// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "probe/target.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe {

/// The memory of one GPU at the moment someone asked; sizes as in GpuMemory.
struct LiveMemory {
    std::optional<MemoryKind> kind = {};
    std::optional<Bytes> physical = {};
    std::optional<Bytes> allocatable = {};
    std::optional<Bytes> free = {};
    std::optional<WallTime> free_at = {};
    /// Where `free` was read: "amdgpu-sysfs", "meminfo", or the API that was asked again; "report"
    /// for the last known value, where it could not be read now.
    std::string source = "report";
    /// Why it could not: "asleep", or those of the API's view.
    std::vector<Reason> reasons = {};
    std::vector<MemoryReading> evidence = {};
    bool operator==(const LiveMemory&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, LiveMemory& memory) {
    visit("kind", memory.kind);
    visit("physical", memory.physical);
    visit("allocatable", memory.allocatable);
    visit("free", memory.free);
    visit("free_at_usec", memory.free_at);
    visit("source", memory.source);
    visit("reasons", memory.reasons);
    visit("evidence", memory.evidence);
}

/// Sizes without a word on where they are from now: source "report".
LiveMemory last_known(const GpuMemory& memory);

/// Brings power/runtime_status up to date, for probes that must not wake a device.
void refresh_power(const FileSystem& files, Machine& machine);

/// Brings up to date what the kernel tells of memory and power without waking anything:
/// MemAvailable, mem_info_*, power/runtime_status. What can't be read any more is taken out.
void refresh_readings(const FileSystem& files, Machine& machine);

/// Where the kernel alone tells what is free, in memory that was assembled from fresh readings.
std::optional<std::string> kernel_source(const GpuMemory& memory);

/// The probe to run again: of the APIs that told this GPU's free memory before, the first of NVML,
/// Vulkan, HIP and DRM. nullopt when none did.
std::optional<ProbeTarget> memory_target(const Gpu& gpu, const std::vector<ProbeTarget>& targets);

/// Reads free memory when asked, with as little as the GPU in question needs: files where the
/// kernel tells, else one probe again. Those who ask while that runs share it. Nothing it learns
/// goes into a report.
class LiveMemoryReader {
public:
    static constexpr std::size_t kMaxWaiting = 256;

    using Probed = std::function<void(ProbeResult)>;
    /// Runs a probe; calls back once, never from within.
    using Start = std::function<void(const ProbeTarget&, Probed)>;
    using Reply = std::function<void(const LiveMemory&)>;

    /// What the engine knows; copied, since a scan may replace it while a probe runs.
    struct Question {
        Gpu gpu = {};
        Machine machine = {};
        std::vector<ProbeResult> probes = {};
        std::vector<ProbeTarget> targets = {};
        bool allow_wake = false;  ///< otherwise no probe runs that would wake a device
    };

    /// `files` and `clock` must outlive it, and it must outlive the probes that it starts.
    LiveMemoryReader(const FileSystem& files, const Clock& clock, Start start);

    /// Calls `reply` once, within this call where no probe is needed. Errors: TooManyRequests when
    /// kMaxWaiting wait for a probe already.
    Status read(Question question, Reply reply);

private:
    /// All who ask about one GPU: what is known is copied, and put together, once for them.
    struct Waiters {
        Question question = {};
        std::vector<Reply> replies = {};
    };
    using ByGpu = std::map<std::string, Waiters>;
    [[nodiscard]] LiveMemory best_known(const Gpu& gpu) const;
    LiveMemory kept(const std::string& id, const GpuMemory& memory, std::string source);
    Status wait(const ProbeTarget& target, Question question, Reply reply);
    void probed(const ProbeTarget& target, const ProbeResult& probe);
    [[nodiscard]] LiveMemory answer(const Question& question, const ProbeResult& probe);

    const FileSystem& files_;
    const Clock& clock_;
    Start start_;
    std::map<ProbeTarget, ByGpu> waiting_ = {};
    std::map<std::string, LiveMemory> last_ = {};  ///< by GPU: what was read live
};

}  // namespace gpuprobe
