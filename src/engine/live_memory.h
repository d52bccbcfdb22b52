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

namespace gpuprobe::engine {

/// The memory of one GPU at the moment someone asked; sizes as in GpuMemory.
struct LiveMemory {
    std::optional<MemoryKind> kind = {};
    std::optional<Bytes> physical = {};
    std::optional<Bytes> allocatable = {};
    std::optional<Bytes> free = {};
    std::optional<WallTime> free_at = {};
    /// Where `free` was read: "amdgpu-sysfs", "meminfo", or the API that was asked; "report" for
    /// the last known value when it can't be read now.
    std::string source = "report";
    /// Why it can't: "asleep", or the reasons of the API's view.
    std::vector<Reason> reasons = {};
    std::vector<MemoryReading> evidence = {};
    bool operator==(const LiveMemory&) const = default;
};
RECORD_MEMBERS(LiveMemory, kind, physical, allocatable, free, ("free_at_usec", free_at), source,
               reasons, evidence)

/// Puts what is free now into what a report says. `now` is a LiveMemory, or as the bus tells it.
template <class Memory>
void take_free(const Memory& now, GpuMemory& memory) {
    memory.free = now.free;
    memory.free_at = now.free_at;
    memory.evidence = now.evidence;
}

/// The sizes as the report has them: source "report".
LiveMemory last_known(const GpuMemory& memory);

/// Brings power/runtime_status up to date, for probes that must not wake a device, and the sensors
/// of accelerators.
void refresh_power(const FileSystem& files, Machine& machine);

/// Reads why GPUs are slowed down (slowdowns_of), where their kernel drivers tell. Whether one
/// does, or did before.
bool refresh_slowdowns(const FileSystem& files, WallTime now, Machine& machine);

/// Brings power and temperature of a report's accelerators up to date, from the files of the
/// machine that it is of. What is not found there is not known.
void refresh_accelerators(const FileSystem& files, Report& report);

/// Brings up to date what the kernel tells about memory and power without waking a device:
/// MemAvailable, mem_info_*, power/runtime_status. Removes what can't be read any more.
void refresh_readings(const FileSystem& files, Machine& machine);

/// Which of the kernel's readings tells what is free, in memory assembled from fresh readings;
/// nullopt when the kernel does not tell.
std::optional<std::string> kernel_source(const GpuMemory& memory);

/// The probes that can be run again: those that have reported this GPU's free memory before, the
/// most believed one first, without CUDA, which would take memory for a context.
std::vector<ProbeTarget> memory_targets(const Gpu& gpu, const std::vector<ProbeTarget>& targets);

/// Reads free memory on request: from the kernel's files if they tell it, otherwise with one probe,
/// which all share who ask while it runs. What it reads does not enter the report.
class LiveMemoryReader {
public:
    static constexpr std::size_t kMaxWaiting = 4096;

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

    /// Calls `reply` once, within this call if no probe is needed. Errors: TooManyRequests when
    /// kMaxWaiting already wait for the probe.
    Status read(Question question, Reply reply);

private:
    /// All who ask about one GPU. The question is copied only once for them.
    struct Waiters {
        Question question = {};
        std::vector<Reply> replies = {};
    };
    using ByGpu = std::map<std::string, Waiters>;
    [[nodiscard]] LiveMemory best_known(const Gpu& gpu) const;
    LiveMemory kept(const std::string& id, const GpuMemory& memory, std::string source);
    Status wait(const ProbeTarget& target, Question question, Reply reply);
    void probed(const ProbeTarget& target, const ProbeResult& probe);
    [[nodiscard]] LiveMemory memory_after(const ProbeResult& probe, const Question& question);

    const FileSystem& files_;
    const Clock& clock_;
    Start start_;
    std::map<ProbeTarget, ByGpu> waiting_ = {};
    std::map<std::string, LiveMemory> last_ = {};  ///< what was read last, by GPU
};

}  // namespace gpuprobe::engine
