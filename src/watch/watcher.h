// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "report/api_table.h"
#include "report/report.h"
#include "watch/process_files.h"
#include "watch/process_tree.h"

namespace gpuprobe::watch {

/// What the watched processes have of one GPU or accelerator.
struct DeviceUse {
    std::string device = {};             ///< its id
    std::optional<Bytes> memory = {};    ///< null: nobody tells
    std::vector<std::string> apis = {};  ///< by which it may be; one: by which it is. Words
    std::size_t processes = 0;
    bool operator==(const DeviceUse&) const = default;
};
RECORD_MEMBERS(DeviceUse, device, memory, apis, processes)

/// Why more may be used than was seen.
enum class Doubt {
    NotReadable,   ///< a process that may not be looked into
    NodeOpen,      ///< a device was held open whose driver does not tell who uses it
    EndedTooSoon,  ///< NVML was not asked while a process had an NVIDIA device open, or a context
    TooMany,       ///< more processes than are looked at
};
constexpr std::array<EnumName<Doubt>, 4> names_of(Doubt) {
    return {{{Doubt::NotReadable, "process-not-readable"},
             {Doubt::NodeOpen, "driver-does-not-tell"},
             {Doubt::EndedTooSoon, "ended-too-soon"},
             {Doubt::TooMany, "too-many-processes"}}};
}

/// Looks at a process and its descendants again and again, and keeps the most that they had.
///
/// A device counts as used when one of them has a megabyte of its memory, has had it work, or has a
/// context on it. An open node alone does not count: drivers open every device to list them.
class Watcher {
public:
    /// Less is what a driver needs to list its devices.
    static constexpr Bytes kLeast = mib(1);
    /// NVIDIA's for Vulkan holds 7 MiB for an instance alone, by NVML, which lists it among those
    /// that compute, and 20 MiB or more with a device of it (an H200, driver 580.159.04).
    static constexpr Bytes kLeastByNvml = mib(16);
    /// A node that is open for less may have been opened to list devices.
    static constexpr Duration kHeld = std::chrono::seconds{1};

    /// `files` and `report` must outlive this; `mark` as of ProcessTree.
    Watcher(const FileSystem& files, const Report& report, pid_t root, std::string mark = {});

    /// What they have now; sorted by id.
    std::vector<DeviceUse> look(MonotonicTime now);
    /// Whether NVML is to be asked: one of them has an NVIDIA device open, or may have without
    /// letting us look.
    [[nodiscard]] bool wants_nvml() const { return wants_nvml_; }
    /// When the last context was first seen of which NVML has not told: it may not be there for
    /// long.
    [[nodiscard]] std::optional<MonotonicTime> untold_since() const;
    /// What the stage kProcessesStage of NVML said, which was asked at `asked`. An answer that is
    /// none leaves everything as it was.
    void add_nvml(const ProbeResult& answer, MonotonicTime asked);

    /// The most of each device that was used at one moment, and every API; sorted by id.
    [[nodiscard]] std::vector<DeviceUse> most() const;
    [[nodiscard]] const std::set<Doubt>& doubts() const { return doubts_; }
    /// The APIs whose library one of them had loaded, whether it used a device or not.
    [[nodiscard]] const std::set<Api>& loaded() const { return loaded_; }
    /// To be called when the processes have ended, or nobody looks any more.
    void finish();
    /// How many run, by the last look.
    [[nodiscard]] std::size_t running() const { return running_; }
    /// Whether the first process could be looked into at the last look.
    [[nodiscard]] bool sees_root() const { return sees_root_; }

private:
    struct Device {
        std::string id = {};
        std::string vendor = {};
        bool shares_memory = false;  ///< its memory is the host's
        bool has_nvml = false;       ///< NVIDIA's own driver has it, which tells nothing itself
        std::optional<PciAddress> pci = {};
        std::vector<std::string> nodes = {};
        std::optional<std::uint32_t> kfd_node = {};
    };
    /// Of one process on one device, or of all.
    struct Share {
        std::optional<Bytes> memory = {};
        bool is_used = false;
        bool computes = false;  ///< in a context that only computes
        bool draws = false;     ///< in one that is made for graphics, or for Vulkan
        std::set<Api> apis = {};
        std::size_t processes = 0;
    };
    using Shares = std::map<std::size_t, Share>;  ///< by place in devices_
    using ProcessKey = std::pair<pid_t, std::uint64_t>;
    struct NvmlEntry {
        std::size_t device = 0;
        std::optional<Bytes> memory = {};
        bool computes = false;
    };

    struct NvidiaOpen {
        MonotonicTime since = {};
        bool is_asked = false;  ///< NVML has been asked since
        /// When a context was first seen of which NVML has not told where it is.
        std::optional<MonotonicTime> untold_since = {};
        std::vector<std::string> mapped = {};  ///< at the last look
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
    std::map<std::string, std::size_t> kfd_ = {};  ///< KFD's number of a GPU → place
    std::set<std::pair<std::optional<PciAddress>, std::uint64_t>> counted_ = {};  ///< DRM clients
    std::map<pid_t, std::vector<NvmlEntry>> nvml_ = {};
    std::map<ProcessKey, NvidiaOpen> nvidia_open_ = {};
    bool wants_nvml_ = false;
    std::map<ProcessKey, MonotonicTime> silent_since_ = {};
    struct Loading {
        int looks = 0;
        MonotonicTime last = {};
    };
    std::map<ProcessKey, Loading> loading_ = {};  ///< of those without a device
    std::set<Api> loaded_ = {};
    Shares most_ = {};
    std::set<Doubt> doubts_ = {};
    std::size_t running_ = 0;
    bool sees_root_ = false;
};

}  // namespace gpuprobe::watch
