// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The parts of the kernel's configuration that a report includes: data/knowledge/setup.json.
/// Everything else is left out because it may be private.
namespace gpuprobe::knowledge {

struct SetupWords {
    /// Modules of graphics drivers and accelerators, and modules that reserve a device for guests.
    /// Sorted, with "_" instead of "-".
    std::vector<std::string> modules = {};
    std::vector<std::string> command_line = {};  ///< prefixes of words on the kernel's command line
    std::vector<std::string> parameters = {};    ///< module parameters: "amdgpu.gttsize"
    /// Names in /proc/driver/nvidia/params, which lists NVIDIA's parameters without the prefix
    /// "NVreg_".
    std::vector<std::string> nvidia_parameters = {};

    /// The table of the knowledge base in use; valid until another one is put in use.
    static const SetupWords& current();
    /// Reads setup.json. Errors: Malformed, TooLarge, with the member at fault.
    static Result<SetupWords> from(std::string_view json);
    [[nodiscard]] bool has_module(std::string_view name) const;
};

}  // namespace gpuprobe::knowledge
