// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuprobe::inline inventory {

/// A node that programs render through, as udev knows it.
struct RenderNode {
    std::string path = {};      ///< "/dev/dri/renderD128"
    std::string path_tag = {};  ///< ID_PATH_TAG, "pci-0000_01_00_0"; "" where udev has none
    std::string driver = {};    ///< of the device behind it
    /// Names of maker and model: those of switcheroo-control's own hardware database, else
    /// pci.ids'.
    std::optional<std::string> vendor = {};
    std::optional<std::string> model = {};
    bool is_boot_display = false;  ///< the firmware's display
};

/// Those of this machine, in the order of their places in sysfs; none where no udevd runs.
std::vector<RenderNode> render_nodes();

}  // namespace gpuprobe::inline inventory
