// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/units.h"
#include "report/pci_address.h"

namespace gpuprobe::watch {

/// An open file of a DRM driver, as /proc/PID/fdinfo/FD describes it. Values that the driver does
/// not report are null.
///
/// Source: Linux, Documentation/gpu/drm-usage-stats.rst.
struct DrmClient {
    std::string driver = {};
    std::optional<PciAddress> pci = {};
    /// drm-client-id: equal for descriptors that share one open file; unique within the device, or
    /// globally.
    std::optional<std::uint64_t> id = {};
    std::optional<Bytes> on_device = {};  ///< memory on the device
    std::optional<Bytes> in_host = {};    ///< host memory that the device uses
    std::optional<bool> has_worked = {};  ///< whether an engine of the GPU has run for this file
    bool operator==(const DrmClient&) const = default;
};

/// Parses the text of an fdinfo file. nullopt if the file isn't a DRM file. Treats out-of-range
/// numbers and invalid units as missing.
std::optional<DrmClient> drm_client_from(std::string_view fdinfo);

/// The device nodes and libraries that a process has open or mapped at a certain moment.
struct ProcessFiles {
    std::vector<std::string> nodes = {};  ///< paths of open device nodes, without duplicates
    std::vector<DrmClient> drm = {};      ///< values from DRM drivers, for each open file
    /// The mapped files, sorted: paths of nodes, and base names of other files. Empty if no node is
    /// open.
    std::vector<std::string> mapped = {};
    /// Number of mappings of /dev/nvidiactl. A process that only lists devices has one mapping.
    std::size_t control_mappings = 0;
    bool is_open_known = false;  ///< whether the descriptors could be listed
    bool is_gone = false;        ///< whether the process has ended
};

/// Reads /proc/PID/fd, fdinfo and maps. The kernel lets us read these files for our own processes,
/// unless they have changed their user or cleared PR_SET_DUMPABLE; root may read all processes.
ProcessFiles files_of(const FileSystem& files, pid_t pid);

/// Reads only the names of mapped files, as in ProcessFiles::mapped, even if no node is open. Empty
/// if the names can't be read. Adds the number of mappings of /dev/nvidiactl to
/// `*control_mappings`, unless the pointer is null.
std::vector<std::string> mapped_by(const FileSystem& files,
                                   pid_t pid,
                                   std::size_t* control_mappings = nullptr);

/// Maps KFD's id of each GPU (gpu_id) to the memory in bytes that a process has allocated on this
/// GPU through KFD. All users may read these files. nullopt if there is no such file: the GPU has
/// another driver, the kernel is older, or the process does not use KFD.
///
/// Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_process.c, "vram_%u" in
/// /sys/class/kfd/kfd/proc/PID. PID is the number in the initial PID namespace.
std::optional<std::map<std::string, Bytes>> kfd_memory(const FileSystem& files, pid_t pid);

/// Maps KFD's id of each GPU, which is in the file topology/nodes/N/gpu_id, to the number N of its
/// topology node.
std::map<std::string, std::uint32_t> kfd_node_numbers(const FileSystem& files);

// The following code measures how much a running program and its descendants use the GPUs. The code
// uses only information that the kernel and management libraries give to unprivileged users.

/// A process at a certain moment. The kernel may reuse the process number later, but number and
/// start time together are unique until the next boot.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';           ///< 'Z': the process has ended and uses nothing
    std::uint64_t started = 0;  ///< start time in clock ticks since boot
    bool operator==(const Process&) const = default;
};

/// Parses /proc/PID/stat; nullopt if the text has another form. The program's name in the text may
/// contain blanks and parentheses, because a program can choose its name. Source: proc_pid_stat(5).
std::optional<Process> process_from(std::string_view stat);

/// When a process started, on the same clock as `now`; nullopt if the process does not exist.
/// Sources: proc_pid_stat(5), proc_uptime(5).
std::optional<WallTime> start_of(const FileSystem& files, pid_t pid, WallTime now);

/// Follows a process and its descendants over a series of searches. A process stays a descendant
/// when its parent ends and the kernel assigns a new parent.
class ProcessTree {
public:
    static constexpr std::size_t kMaxProcesses = 4096;

    /// `mark`: an environment variable with its value, "NAME=value", that was set when the root
    /// process was started. The variable identifies descendants whose parents started and ended
    /// between two searches. `files` must outlive this object.
    ProcessTree(const FileSystem& files, pid_t root, std::string mark = {});

    /// The processes of the tree that are running now, sorted by process id; empty if all have
    /// ended. Zombies are left out.
    std::vector<Process> look();
    /// False if the last search found more than kMaxProcesses processes, or if /proc could not be
    /// listed.
    [[nodiscard]] bool is_whole() const { return is_whole_; }

private:
    [[nodiscard]] std::optional<Process> read(pid_t pid) const;
    [[nodiscard]] bool is_marked(pid_t pid) const;
    [[nodiscard]] bool is_root(const Process& process);
    void adopt(std::map<pid_t, Process>& strangers);

    const FileSystem& files_;
    pid_t root_;
    std::string mark_;
    std::optional<std::uint64_t> root_started_ = {};
    std::map<pid_t, Process> ours_ = {};
    /// A process outside the tree, and how often it was examined. A new process may later turn out
    /// to belong to the tree, if its parent ended after /proc was listed, or if it has not called
    /// exec() yet.
    struct Other {
        Process process = {};
        int looks = 0;
    };
    std::map<pid_t, Other> others_ = {};
    bool is_whole_ = true;
};

}  // namespace gpuprobe::watch
