// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/caller.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Device nodes of a machine: looked at, never opened.
class NodeSource {
public:
    virtual ~NodeSource() = default;
    /// nullopt when there is no such node.
    [[nodiscard]] virtual std::optional<DeviceNode> find(std::string_view path) const = 0;
    /// Paths of the nodes in a folder such as "/dev" or "/dev/dri", sorted.
    [[nodiscard]] virtual std::vector<std::string> list(std::string_view folder) const = 0;
};

/// The nodes of the running machine: stat and faccessat(AT_EACCESS) only. `accessible` is for this
/// process or, where `prober` is given, for that user, by may_open: the workers of a daemon may run
/// as another user, who is allowed other things.
class LiveNodes final : public NodeSource {
public:
    explicit LiveNodes(std::optional<Caller> prober = {}) : prober_{std::move(prober)} {}
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

private:
    std::optional<Caller> prober_ = {};
};

/// The nodes a capture recorded (nodes.json: {path: {major, minor, mode, group, accessible}}).
class RecordedNodes final : public NodeSource {
public:
    /// Errors: Malformed, with the path and member at fault.
    static Result<RecordedNodes> parse(std::string_view json);
    RecordedNodes() = default;
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

private:
    std::map<std::string, DeviceNode, std::less<>> nodes_ = {};
};

/// Every display, 3D, co-processor and accelerator function, every DRM and accel device, by sysfs
/// alone. Opens no node, reads no PCI config space, wakes nothing. What can't be read is a note,
/// never an error. `host` is taken as it is.
Machine scan_machine(const FileSystem& files, const NodeSource& nodes, Host host);

/// The PCI functions of scan_machine() and the versions of their drivers, in a third of its time:
/// what it takes to know which driver may be asked. `host` as there.
Machine scan_functions(const FileSystem& files, Host host);

/// Kernel and processor of the running machine, from uname: the part of detect_host() that is there
/// at once.
Host running_kernel();

/// The host from procfs, sysfs, uname and cpuid. Only for the running machine: captures bring their
/// own.
Host detect_host(const FileSystem& files);

/// The host's memory alone, from /proc/meminfo.
HostMemory host_memory(const FileSystem& files);

}  // namespace gpuprobe::inline inventory
