// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "report/api_table.h"
#include "report/report.h"
#include "watch/processes.h"

namespace gpuprobe::watch {

/// How the watched processes use one GPU or accelerator.
struct DeviceUse {
    std::string device = {};             ///< id of the device
    std::optional<Bytes> memory = {};    ///< null if no source reports it
    std::vector<std::string> apis = {};  ///< words of the APIs that may be in use; if one, it is
    std::size_t processes = 0;
    bool operator==(const DeviceUse&) const = default;
};
RECORD_MEMBERS(DeviceUse, device, memory, apis, processes)

/// Why the real use may be higher than the measured use.
enum class Doubt {
    NotReadable,   ///< a process can't be read
    NodeOpen,      ///< a device was held open whose driver does not report use per process
    EndedTooSoon,  ///< NVML was not queried while a process had an NVIDIA device or context open
    TooMany,       ///< more processes than ProcessTree::kMaxProcesses
    SeldomSeen,    ///< a look was late, or longer than Watcher::kLongestGap after the last one
};
constexpr std::array<EnumName<Doubt>, 5> names_of(Doubt) {
    return {{{Doubt::NotReadable, "process-not-readable"},
             {Doubt::NodeOpen, "driver-does-not-tell"},
             {Doubt::EndedTooSoon, "ended-too-soon"},
             {Doubt::TooMany, "too-many-processes"},
             {Doubt::SeldomSeen, "seldom-seen"}}};
}

/// Looks at a process and its descendants repeatedly and keeps the peak of their use.
///
/// A device counts as used when one of the processes has a mebibyte of its memory, has run work on
/// it, or has a context on it. Merely opening its node does not count, because drivers open every
/// device to list them.
class Watcher {
public:
    /// Smaller amounts do not count as use: a driver needs them to list its devices.
    static constexpr Bytes kLeast = mib(1);
    /// The same for amounts that NVML reports. With NVIDIA's Vulkan driver, NVML lists a process
    /// that has only an instance as computing, with 7 MiB; with a device it has 20 MiB or more
    /// (measured on an H200, driver 580.159.04).
    static constexpr Bytes kLeastByNvml = mib(16);
    /// Searches that are further apart may miss a CUDA context if a process has an NVIDIA device
    /// open. On an H200, a process has the mappings of a context for 90 ms or more, because making
    /// one takes that long.
    static constexpr Duration kLongestGap = std::chrono::milliseconds{75};
    /// NVML lists a process with little memory while it makes a context, and later if that is all.
    static constexpr Duration kSettled = std::chrono::seconds{1};
    /// A node that is open for a shorter time may have been opened only to list devices.
    static constexpr Duration kHeld = std::chrono::seconds{1};

    /// `files` and `report` must outlive this object; `mark` as in ProcessTree.
    Watcher(const FileSystem& files, const Report& report, pid_t root, std::string mark = {});

    /// Looks at the processes and returns their current use, sorted by id.
    std::vector<DeviceUse> look(MonotonicTime now);
    /// Whether NVML should be queried: one of the processes has an NVIDIA device open, or we can't
    /// read whether it has.
    [[nodiscard]] bool wants_nvml() const { return wants_nvml_; }
    /// When we first saw the newest context that NVML has not reported yet; nullopt if there is
    /// none. Such a context may end soon, so NVML should be queried quickly.
    [[nodiscard]] std::optional<MonotonicTime> unreported_since() const;
    /// Adds the result of NVML's stage kProcessesStage, which was started at `asked`. A failed
    /// result changes nothing.
    void add_nvml(const ProbeResult& answer, MonotonicTime asked);

    /// The peak use of each device at one moment, with all APIs seen so far; sorted by id.
    [[nodiscard]] std::vector<DeviceUse> most() const;
    [[nodiscard]] const std::set<Doubt>& doubts() const { return doubts_; }
    /// The APIs whose library a process had loaded, even if it did not use a device.
    [[nodiscard]] const std::set<Api>& loaded() const { return loaded_; }
    /// Whether a process has an NVIDIA device open, and no use of one was measured yet. A context
    /// may then be seen only if the looks are close together.
    [[nodiscard]] bool may_miss_context() const { return wants_nvml_ && !took_nvidia(); }
    /// Call it after the last look, with the time when the processes ended, and whether a look was
    /// much later than planned. It may add Doubt::EndedTooSoon and Doubt::SeldomSeen.
    void finish(std::optional<MonotonicTime> ended = {}, bool was_late = false);
    /// The number of processes that ran at the last look.
    [[nodiscard]] std::size_t running() const { return running_; }
    /// Whether the root process could be read at the last look.
    [[nodiscard]] bool sees_root() const { return sees_root_; }

private:
    struct Device {
        std::string id = {};
        std::string vendor = {};
        bool shares_memory = false;  ///< uses host memory
        bool has_nvml = false;       ///< NVIDIA's driver serves it: only NVML reports its use
        std::optional<PciAddress> pci = {};
        std::vector<std::string> nodes = {};
        std::optional<std::uint32_t> kfd_node = {};
    };
    /// The use of one device, by one process or by all of them.
    struct Share {
        std::optional<Bytes> memory = {};
        bool is_used = false;
        bool computes = false;  ///< has a context that can only compute
        bool draws = false;     ///< has a context for graphics or Vulkan
        std::set<Api> apis = {};
        std::size_t processes = 0;
    };
    using Shares = std::map<std::size_t, Share>;  ///< by index in devices_
    using ProcessKey = std::pair<pid_t, std::uint64_t>;
    struct NvmlEntry {
        std::size_t device = 0;
        std::optional<Bytes> memory = {};
        bool computes = false;
    };

    /// A process that has an NVIDIA device open.
    struct NvidiaOpen {
        MonotonicTime since = {};
        bool is_asked = false;  ///< NVML has been queried since then
        /// When we first saw a context that NVML has not reported yet.
        std::optional<MonotonicTime> unreported_since = {};
        /// When NVML first and last listed it, with whatever memory.
        std::optional<MonotonicTime> listed_since = {};
        std::optional<MonotonicTime> listed_until = {};
        std::vector<std::string> mapped = {};  ///< mapped files at the last look
    };

    void add_devices(const Report& report);
    [[nodiscard]] std::optional<std::size_t> device_at(const std::optional<PciAddress>& pci) const;
    [[nodiscard]] std::optional<std::size_t> device_of_node(std::string_view path) const;
    [[nodiscard]] std::optional<std::size_t> device_of(const DrmClient& client,
                                                       const ProcessFiles& open) const;
    [[nodiscard]] Shares shares_of(const Process& process, MonotonicTime now);
    void add_drm(const ProcessFiles& open, Shares& shares);
    void add_kfd(pid_t pid, const ProcessFiles& open, Shares& shares) const;
    void add_nvidia(const Process& process,
                    const ProcessFiles& open,
                    MonotonicTime now,
                    Shares& shares);
    static void add_entries(const std::vector<NvmlEntry>& entries, Shares& shares);
    static void add_share(const Share& share, Share& total);
    void note_gap(MonotonicTime now);
    [[nodiscard]] bool took_nvidia() const;
    void keep_most(const Shares& shares);
    void count_nvml();
    void note_loaded(const Process& process, const ProcessFiles& open, MonotonicTime now);
    [[nodiscard]] bool is_silent(const ProcessFiles& open) const;
    void note_silent(const Process& process, const ProcessFiles& open, MonotonicTime now);
    [[nodiscard]] std::set<Api> apis_of(const Device& device,
                                        const Share& share,
                                        const std::vector<std::string>& mapped) const;
    [[nodiscard]] std::vector<DeviceUse> uses_of(const Shares& shares) const;

    const FileSystem& files_;
    ProcessTree tree_;
    pid_t root_;
    std::vector<Device> devices_ = {};
    std::map<std::string, std::size_t> kfd_ = {};  ///< KFD's id of a GPU → index in devices_
    /// DRM clients that the current look has counted already.
    std::set<std::pair<std::optional<PciAddress>, std::uint64_t>> counted_ = {};
    std::map<pid_t, std::vector<NvmlEntry>> nvml_ = {};
    std::map<ProcessKey, NvidiaOpen> nvidia_open_ = {};
    bool wants_nvml_ = false;
    std::map<ProcessKey, MonotonicTime> silent_since_ = {};
    /// When a process's mapped libraries were last read, and how often.
    struct Loading {
        int looks = 0;
        MonotonicTime last = {};
    };
    std::map<ProcessKey, Loading> loading_ = {};
    std::set<Api> loaded_ = {};
    Shares most_ = {};
    std::set<Doubt> doubts_ = {};
    std::optional<MonotonicTime> last_look_ = {};
    Duration longest_gap_ = {};  ///< after a look that saw an NVIDIA device open
    std::size_t running_ = 0;
    bool sees_root_ = false;
};

}  // namespace gpuprobe::watch
