// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/access.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The device nodes of a machine. Only the attributes of nodes are read; nodes are never opened.
class NodeSource {
public:
    virtual ~NodeSource() = default;
    /// The node at `path`; nullopt if it does not exist.
    [[nodiscard]] virtual std::optional<DeviceNode> find(std::string_view path) const = 0;
    /// Paths of the nodes in a folder such as "/dev" or "/dev/dri", sorted.
    [[nodiscard]] virtual std::vector<std::string> list(std::string_view folder) const = 0;
};

/// The nodes of the running machine, found with stat and faccessat(AT_EACCESS). `accessible` is
/// true if this process may open the node. If `prober` is given, `accessible` is true if may_open()
/// permits that user to open the node, because a daemon's workers may run as a user with other
/// permissions.
class LiveNodes final : public NodeSource {
public:
    explicit LiveNodes(std::optional<Caller> prober = {}) : prober_{std::move(prober)} {}
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

private:
    std::optional<Caller> prober_ = {};
};

/// The nodes recorded in a capture (nodes.json: {path: {major, minor, mode, group, accessible}}).
class RecordedNodes final : public NodeSource {
public:
    /// Parses nodes.json. Errors: Malformed, with a message that names the path and member at
    /// fault; TooLarge.
    static Result<RecordedNodes> parse(std::string_view json);
    RecordedNodes() = default;
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

private:
    std::map<std::string, DeviceNode, std::less<>> nodes_ = {};
};

/// Finds every display, 3D, co-processor and accelerator function and every DRM and accel device,
/// using only sysfs. Does not open a node, does not read the PCI configuration space, and does not
/// wake a device. If a file cannot be read, the result contains a note instead of an error. `host`
/// is copied to the result.
Machine scan_machine(const FileSystem& files, const NodeSource& nodes, Host host);

/// The PCI functions that scan_machine() would find, and the versions of their drivers. This
/// function takes a third of the time that scan_machine() takes, and its result is sufficient to
/// decide which vendor drivers to probe. `host` is copied to the result.
Machine scan_functions(const FileSystem& files, Host host);

/// The kernel and the architecture of the running machine, from uname(). This function is the part
/// of detect_host() that reads no file.
Host running_kernel();

/// Describes the host from procfs, sysfs, uname and cpuid. Call this function only for the running
/// machine, because a capture contains the recorded host.
Host detect_host(const FileSystem& files);

/// The host's memory, from /proc/meminfo.
HostMemory host_memory(const FileSystem& files);

}  // namespace gpuprobe::inline inventory
