// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {

/// The kinds of nodes in /sys/class/drm and /sys/class/accel.
enum class ClassNodeKind { Card, Render, Accel };

/// A member of /sys/class/drm or /sys/class/accel that has a node below /dev.
struct ClassNode {
    ClassNodeKind kind = ClassNodeKind::Card;
    std::string name = {};    ///< "card0", "renderD128", "accel0"
    std::string device = {};  ///< "226:128"
    /// The resolved folder of the device; for virtio and host1x children, the device above them.
    std::string parent = {};
    std::optional<bool> connected = {};     ///< cards only: a display is connected
    std::optional<bool> boot_display = {};  ///< cards only: displayed the boot; since Linux 6.18

    [[nodiscard]] std::string path() const;  ///< the node's path below /dev
    /// The number in the name, which is also the minor device number.
    [[nodiscard]] std::optional<std::uint32_t> minor() const;
};

/// The nodes of both classes: cards, render nodes, accel nodes, each sorted by name. Legacy
/// controlD nodes are left out.
///
/// Connector states are cached in the kernel, so reading them does not probe the connectors
/// (drivers/gpu/drm/drm_sysfs.c, status_show).
std::vector<ClassNode> class_nodes(const Sysfs& sysfs);

}  // namespace gpuprobe::inline inventory
