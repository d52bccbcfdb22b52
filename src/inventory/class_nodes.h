// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {

enum class ClassNodeKind { Card, Render, Accel };

/// One member of /sys/class/drm or /sys/class/accel that has a node below /dev.
struct ClassNode {
    ClassNodeKind kind = ClassNodeKind::Card;
    std::string name = {};    ///< "card0", "renderD128", "accel0"
    std::string device = {};  ///< "226:128"
    /// Resolved folder of the device behind it, above virtio and host1x children.
    std::string parent = {};
    std::optional<bool> connected = {};     ///< a card: has a connector with a display on it
    std::optional<bool> boot_display = {};  ///< a card: showed the boot; since Linux 6.18

    [[nodiscard]] std::string path() const;  ///< below /dev
    /// The number in the name, which is the minor device number.
    [[nodiscard]] std::optional<std::uint32_t> minor() const;
};

/// The nodes of both classes, sorted by name. Legacy controlD nodes are left out.
///
/// Connector states are cached in the kernel; reading them probes nothing
/// (drivers/gpu/drm/drm_sysfs.c, status_show).
std::vector<ClassNode> class_nodes(const Sysfs& sysfs);

}  // namespace gpuprobe::inline inventory
