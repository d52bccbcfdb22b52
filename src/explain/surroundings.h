// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuprobe {

/// What no report holds, because it is of the one who asks and not of the machine, or says nothing
/// about a GPU by itself. A captured machine has none of it.
struct Surroundings {
    /// Variables that change which GPUs a program sees, by name; others are not looked at.
    std::map<std::string, std::string> environment = {};
    std::optional<std::string> kernel_command_line = {};
    std::optional<bool> secure_boot = {};
    std::vector<std::string> vulkan_layers = {};  ///< paths of implicit layers' manifests
    std::vector<std::string> cdi_specs = {};      ///< paths of the Container Device Interface's
    std::optional<bool> has_wsl_libraries = {};   ///< /usr/lib/wsl/lib is there
};

}  // namespace gpuprobe
