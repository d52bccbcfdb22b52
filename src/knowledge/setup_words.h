// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// What a report keeps of how the kernel was set up: data/knowledge/setup.json. The rest of it may
/// tell what is nobody's business.
namespace gpuprobe::knowledge {

struct SetupWords {
    /// Of graphics drivers and accelerators, and those that keep a device for guests; sorted, with
    /// "_" for "-".
    std::vector<std::string> modules = {};
    std::vector<std::string> command_line = {};  ///< how words of the kernel's command line begin
    std::vector<std::string> parameters = {};    ///< of modules: "amdgpu.gttsize"
    /// Of /proc/driver/nvidia/params, which has NVIDIA's parameters without "NVreg_".
    std::vector<std::string> nvidia_parameters = {};

    /// What is in use, until another library is.
    static const SetupWords& current();
    /// Errors: Malformed, TooLarge, with the member at fault.
    static Result<SetupWords> from(std::string_view json);
    [[nodiscard]] bool has_module(std::string_view name) const;
};

}  // namespace gpuprobe::knowledge
