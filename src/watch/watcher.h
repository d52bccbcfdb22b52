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
    std::string device = {};           ///< id of the device
    std::optional<Bytes> memory = {};  ///< memory in use; null if no source reports it
    /// names of the APIs that may be in use; if there is only one, it is certainly in use
    std::vector<std::string> apis = {};
    std::size_t processes = 0;
    bool operator==(const DeviceUse&) const = default;
};
RECORD_MEMBERS(DeviceUse, device, memory, apis, processes)

/// The reason why the real use may be higher than the measured use.
enum class Doubt {
    NotReadable,   ///< a process can't be read
    NodeOpen,      ///< a device was open whose driver does not report use per process
    EndedTooSoon,  ///< NVML wasn't queried while a process had an NVIDIA device or context open
    TooMany,       ///< more processes than ProcessTree::kMaxProcesses
    /// a search was late, or came more than Watcher::kLongestGap after the previous search
    SeldomSeen,
};
constexpr std::array<EnumName<Doubt>, 5> names_of(Doubt) {
    return {{{Doubt::NotReadable, "process-not-readable"},
             {Doubt::NodeOpen, "driver-does-not-tell"},
             {Doubt::EndedTooSoon, "ended-too-soon"},
             {Doubt::TooMany, "too-many-processes"},
             {Doubt::SeldomSeen, "seldom-seen"}}};
}

/// Repeatedly examines a process and its descendants, and keeps the peak of their use.
///
/// A device counts as used if one of the processes has allocated a mebibyte of its memory, has run
/// work on the device, or has a context on the device. Opening the node of a device does not count
/// as use, because drivers open every device in order to list the devices.
class Watcher {
public:
    /// Smaller amounts of memory do not count as use, because a driver needs some memory to list
    /// its devices.
    static constexpr Bytes kLeast = mib(1);
    /// Smaller amounts of memory that NVML reports do not count as use. If a process has only a
    /// Vulkan instance from NVIDIA's driver, NVML already lists this process as a compute process
    /// with 7 MiB. A process with a Vulkan device has 20 MiB or more (measured on an H200, driver
    /// 580.159.04).
    static constexpr Bytes kLeastByNvml = mib(16);
    /// The longest acceptable time between two searches while a process has an NVIDIA device open.
    /// After a longer time, a CUDA context may have been created and destroyed unnoticed. On an
    /// H200, a process has the mappings of a context for 90 ms or more, because creating a context
    /// takes that long.
    static constexpr Duration kLongestGap = std::chrono::milliseconds{75};
    /// While a process creates a context, NVML lists the process with little memory. If the process
    /// allocates no more memory, NVML continues to report little memory.
    static constexpr Duration kSettled = std::chrono::seconds{1};
    /// If a node is open for a shorter time, it may have been opened only to list devices.
    static constexpr Duration kHeld = std::chrono::seconds{1};

    /// `files` and `report` must outlive this object; `mark` as in ProcessTree.
    Watcher(const FileSystem& files, const Report& report, pid_t root, std::string mark = {});

    /// Examines the processes and returns their current use of devices, sorted by the ids of the
    /// devices.
    std::vector<DeviceUse> look(MonotonicTime now);
    /// Whether NVML should be queried: a process has an NVIDIA device open, or it is unknown
    /// whether a process has one open.
    [[nodiscard]] bool wants_nvml() const { return wants_nvml_; }
    /// The time when the newest context that NVML has not reported yet was first seen; nullopt if
    /// there is no such context. The context may end soon, so NVML should be queried quickly.
    [[nodiscard]] std::optional<MonotonicTime> unreported_since() const;
    /// Adds the result of NVML's stage kProcessesStage, which was started at `asked`. A failed
    /// result changes nothing.
    void add_nvml(const ProbeResult& answer, MonotonicTime asked);

    /// For each device, the most memory and processes that one search found, and all APIs; sorted
    /// by id.
    [[nodiscard]] std::vector<DeviceUse> most() const;
    [[nodiscard]] const std::set<Doubt>& doubts() const { return doubts_; }
    /// The APIs whose library a process had loaded, even if it did not use a device.
    [[nodiscard]] const std::set<Api>& loaded() const { return loaded_; }
    /// Whether a process has an NVIDIA device open, and no use of an NVIDIA device has been
    /// measured yet. While this is the case, a context may be missed unless searches follow each
    /// other quickly.
    [[nodiscard]] bool may_miss_context() const { return wants_nvml_ && !took_nvidia(); }
    /// Call this function after the last search, with the time when the processes ended, and
    /// whether a search was much later than planned. The function may add Doubt::EndedTooSoon and
    /// Doubt::SeldomSeen.
    void finish(std::optional<MonotonicTime> ended = {}, bool was_late = false);
    /// The number of processes that were running at the last search.
    [[nodiscard]] std::size_t running() const { return running_; }
    /// Whether the root process could be read at the last search.
    [[nodiscard]] bool sees_root() const { return sees_root_; }

private:
    struct Device {
        std::string id = {};
        std::string vendor = {};
        bool shares_memory = false;  ///< whether the device uses host memory
        /// whether only NVML reports the device's use, because NVIDIA's driver serves the device
        bool has_nvml = false;
        std::optional<PciAddress> pci = {};
        std::vector<std::string> nodes = {};
        std::optional<std::uint32_t> kfd_node = {};
    };
    /// The use of one device, by one process or by all processes.
    struct Share {
        std::optional<Bytes> memory = {};
        bool is_used = false;
        bool computes = false;  ///< whether there is a context that can only compute
        bool draws = false;     ///< whether there is a context for graphics or Vulkan
        std::set<Api> apis = {};
        std::size_t processes = 0;
    };
    using Shares = std::map<std::size_t, Share>;  ///< keyed by the index in devices_
    using ProcessKey = std::pair<pid_t, std::uint64_t>;
    struct NvmlEntry {
        std::size_t device = 0;
        std::optional<Bytes> memory = {};
        bool computes = false;
    };

    /// A process that has an NVIDIA device open.
    struct NvidiaOpen {
        MonotonicTime since = {};
        bool is_asked = false;  ///< whether NVML has been queried after `since`
        /// The time when a context that NVML has not reported yet was first seen.
        std::optional<MonotonicTime> unreported_since = {};
        /// The times when NVML first and last listed the process, even if with little memory.
        std::optional<MonotonicTime> listed_since = {};
        std::optional<MonotonicTime> listed_until = {};
        std::vector<std::string> mapped = {};  ///< the process's mapped files at the last search
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
    /// maps KFD's id of a GPU to an index into devices_
    std::map<std::string, std::size_t> kfd_ = {};
    /// DRM clients that the current search has already counted.
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
    Duration longest_gap_ = {};  ///< longest gap after a search that found an NVIDIA device open
    std::size_t running_ = 0;
    bool sees_root_ = false;
};

}  // namespace gpuprobe::watch
