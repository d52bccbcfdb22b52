// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/gpu_selectors.h"

namespace gpuprobe::inline cli {

/// Text for a shell: what to set, and comments on the other ways.
struct EnvironmentLines {
    std::string settings = {};  ///< "KEY=VALUE" lines
    std::string comments = {};  ///< "# …" lines
};

/// What environment_for() sets. Every selector that is no part of it is a comment, so that all of
/// it may go through eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings);

/// Who the GPU is: its place, nodes, UUIDs, position in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

}  // namespace gpuprobe::inline cli
