// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/bytes.h"
#include "base/files.h"
#include "report/pci_address.h"

namespace gpuprobe::watch {

/// One open file of a DRM driver, as /proc/PID/fdinfo/FD tells of it.
///
/// Source: Linux, Documentation/gpu/drm-usage-stats.rst. What a driver does not tell is null.
struct DrmClient {
    std::string driver = {};
    std::optional<PciAddress> pci = {};
    /// Equal for descriptors that share one open file; unique within the device, or at all.
    std::optional<std::uint64_t> id = {};
    std::optional<Bytes> on_device = {};  ///< in memory of the device's own
    std::optional<Bytes> in_host = {};    ///< in the host's memory that the device uses
    std::optional<bool> has_worked = {};  ///< an engine has run for it
    bool operator==(const DrmClient&) const = default;
};

/// nullopt for what is no DRM file. Numbers that do not fit and units that are none are as good as
/// not told.
std::optional<DrmClient> drm_client_from(std::string_view fdinfo);

/// What one process has open and mapped of devices and libraries at one moment.
struct ProcessFiles {
    std::vector<std::string> nodes = {};  ///< device nodes that are open, each once
    std::vector<DrmClient> drm = {};      ///< of those, what DRM drivers tell; one for each file
    /// Nodes, and base names of other files; sorted. Not read where no node is open.
    std::vector<std::string> mapped = {};
    bool is_open_known = false;  ///< the descriptors could be listed
    bool is_gone = false;        ///< it has ended meanwhile
};

/// Reads /proc/PID/fd, fdinfo and maps. The kernel lets everybody look into their own processes,
/// unless these have changed their user or closed themselves (PR_SET_DUMPABLE), and root into all.
ProcessFiles files_of(const FileSystem& files, pid_t pid);

/// The names of ProcessFiles::mapped alone, whatever is open; none where they may not be read.
std::vector<std::string> mapped_by(const FileSystem& files, pid_t pid);

/// KFD's own count: bytes of its memory that a process has on each GPU, by KFD's number of the GPU.
/// Everybody may read it. nullopt where there is none: another driver, an older kernel, or a
/// process without KFD. Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_process.c, "vram_%u" in
/// /sys/class/kfd/kfd/proc/PID, by numbers of the first PID namespace.
std::optional<std::map<std::string, Bytes>> kfd_memory(const FileSystem& files, pid_t pid);

/// KFD's number of each GPU's node: topology/nodes/N/gpu_id to N.
std::map<std::string, std::uint32_t> kfd_node_numbers(const FileSystem& files);

}  // namespace gpuprobe::watch
