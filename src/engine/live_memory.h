// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "probe/target.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::engine {

/// The memory of one GPU at the time of a request. The sizes have the same meaning as in GpuMemory.
struct LiveMemory {
    std::optional<MemoryKind> kind = {};
    std::optional<Bytes> physical = {};
    std::optional<Bytes> allocatable = {};
    std::optional<Bytes> free = {};
    std::optional<WallTime> free_at = {};
    /// The source of `free`, which is "amdgpu-sysfs", "meminfo", or the API that was probed;
    /// "report" for the last known value, if the memory cannot be read now.
    std::string source = "report";
    /// The reasons why the memory cannot be read now: either "asleep", or the reasons in the API's
    /// view.
    std::vector<Reason> reasons = {};
    std::vector<MemoryReading> evidence = {};
    bool operator==(const LiveMemory&) const = default;
};
RECORD_MEMBERS(LiveMemory,
               kind,
               physical,
               allocatable,
               free,
               ("free_at_usec", free_at),
               source,
               reasons,
               evidence)

/// Copies the current free memory into a report's memory.
inline void take_free(const LiveMemory& now, GpuMemory& memory) {
    memory.free = now.free;
    memory.free_at = now.free_at;
    memory.evidence = now.evidence;
}

/// The sizes in the report, with the source "report".
LiveMemory last_known(const GpuMemory& memory);

/// Reads power/runtime_status again, because some probes must not wake a device, and reads the
/// sensors of accelerators again.
void refresh_power(const FileSystem& files, Machine& machine);

/// Reads the reasons why GPUs are slowed down (slowdowns_of()), if their kernel drivers report
/// reasons. Returns whether any driver reports reasons now or reported reasons before.
bool refresh_slowdowns(const FileSystem& files, WallTime now, Machine& machine);

/// Reads power and temperature of all accelerators in the report again. `files` must belong to the
/// same machine. Values that cannot be read become unknown.
void refresh_accelerators(const FileSystem& files, Report& report);

/// Reads the kernel's values about memory and power (MemAvailable, mem_info_*,
/// power/runtime_status) again, without waking a device. Removes values that can no longer be read.
void refresh_readings(const FileSystem& files, Machine& machine);

/// Reads free memory on request: from the kernel's files if possible, otherwise with one probe,
/// which all callers share while it runs. The values aren't stored in the report.
class LiveMemoryReader {
public:
    static constexpr std::size_t kMaxWaiting = 4096;

    using Probed = std::function<void(ProbeResult)>;
    /// Runs a probe and calls the callback once, after this function has returned.
    using Start = std::function<void(const ProbeTarget&, Probed)>;
    using Reply = std::function<void(const LiveMemory&)>;

    /// The engine's data for a request. The data is a copy, because a scan may replace the engine's
    /// data while a probe runs.
    struct Question {
        Gpu gpu = {};
        Machine machine = {};
        std::vector<ProbeResult> probes = {};
        std::vector<ProbeTarget> targets = {};
        bool allow_wake = false;  ///< whether a probe may wake a device
    };

    /// `files` and `clock` must outlive this object, and this object must outlive the probes that
    /// it starts.
    LiveMemoryReader(const FileSystem& files, const Clock& clock, Start start);

    /// Calls `reply` once. If no probe is needed, `reply` is called before this function returns.
    /// Errors: TooManyRequests if kMaxWaiting callers already wait for the probe.
    Status read(Question question, Reply reply);

private:
    /// All callers that wait for the memory of one GPU. The callers share one copy of the request
    /// data.
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
    std::map<std::string, LiveMemory> last_ = {};  ///< the last values, by GPU
};

}  // namespace gpuprobe::engine
