// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/environment.h"

namespace gpuprobe::inline cli {

/// Text for a shell: variables to set, and comments with the other ways to select the GPU.
struct EnvironmentLines {
    std::string settings = {};  ///< "KEY=VALUE" lines
    std::string comments = {};  ///< "# …" lines
};

/// The variables of environment_for() as assignments, and every other selector as a comment, so
/// that the whole text can be passed to eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings);

/// The GPU's identity: PCI address, device nodes, UUIDs, index in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

}  // namespace gpuprobe::inline cli
