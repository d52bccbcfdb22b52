// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuprobe::inline inventory {

/// A DRM render node, with the properties that udev has for it.
struct RenderNode {
    std::string path = {};      ///< "/dev/dri/renderD128"
    std::string path_tag = {};  ///< ID_PATH_TAG, "pci-0000_01_00_0"; "" if udev has none
    std::string driver = {};    ///< the device's driver
    /// The names of vendor and model: from switcheroo-control's hardware database, else from
    /// pci.ids.
    std::optional<std::string> vendor = {};
    std::optional<std::string> model = {};
    bool is_boot_display = false;  ///< the firmware uses it as the display
};

/// The render nodes of this machine, in the order of their sysfs paths; empty if udevd does not
/// run.
std::vector<RenderNode> render_nodes();

}  // namespace gpuprobe::inline inventory
