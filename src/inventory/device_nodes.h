// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/scan.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The kinds of nodes in /sys/class/drm and /sys/class/accel.
enum class ClassNodeKind { Card, Render, Accel };

/// A member of /sys/class/drm or /sys/class/accel that has a node below /dev.
struct ClassNode {
    ClassNodeKind kind = ClassNodeKind::Card;
    std::string name = {};    ///< a name such as "card0", "renderD128" or "accel0"
    std::string device = {};  ///< the device number, such as "226:128"
    /// The resolved folder of the device. If the device is a child of a virtio or host1x device,
    /// this is the folder of the parent device.
    std::string parent = {};
    std::optional<bool> connected = {};  ///< for cards, whether a display is connected
    /// For cards, whether the device is the boot display. Linux reports the boot display since
    /// version 6.18.
    std::optional<bool> boot_display = {};

    [[nodiscard]] std::string path() const;  ///< the node's path below /dev
};

/// The nodes of both classes, /sys/class/drm and /sys/class/accel: cards, render nodes and accel
/// nodes, each sorted by name. Legacy controlD nodes are left out.
///
/// Connector states are cached in the kernel, so reading them does not probe the connectors
/// (drivers/gpu/drm/drm_sysfs.c, status_show).
std::vector<ClassNode> class_nodes(const Sysfs& sysfs);

/// The device nodes during one scan.
class DeviceNodes {
public:
    /// `source` is borrowed and must outlive this object.
    explicit DeviceNodes(const NodeSource& source);

    /// False if the source lists no nodes at all, for example because a capture contains no nodes.
    /// In this case, a missing node proves nothing.
    [[nodiscard]] bool known() const { return known_; }
    /// The node at `path`; nullopt if there is no such node.
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const;
    /// The node at `path`. If the node does not exist, the result contains only the path, and is
    /// marked as "missing" if known() is true.
    [[nodiscard]] DeviceNode at(const std::string& path) const;
    /// The existing nodes that belong to a driver and not to one device, such as /dev/kfd and
    /// /dev/nvidiactl.
    [[nodiscard]] std::vector<DeviceNode> shared() const;

private:
    const NodeSource& source_;
    bool known_ = false;
};

constexpr std::size_t kMaxAccessList = 4096;  ///< the limit in bytes, enough for 511 entries

/// The entries of an access control list, except the entries for the owner and for others, because
/// the mode contains the permissions of the owner and others. `bytes` is the value of the attribute
/// system.posix_acl_access. If `bytes` is malformed, the result is empty. Source: Linux,
/// include/uapi/linux/posix_acl_xattr.h and posix_acl.h, little-endian.
std::vector<AclEntry> access_list(std::string_view bytes);

}  // namespace gpuprobe::inline inventory
