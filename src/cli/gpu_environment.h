// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/gpu_selectors.h"

namespace gpuprobe {

/// Text for a shell: what to set, and comments on the other ways.
struct EnvironmentLines {
    std::string settings = {};  ///< "KEY=VALUE" lines
    std::string comments = {};  ///< "# …" lines
};

/// Sets the best selector of each API, with what must be set beside it, as long as none disagrees
/// with another; with `has_positions` also where only a position selects. Every other selector is a
/// comment, so that all of it may go through eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors, bool has_positions);

/// Who the GPU is: its place, nodes, UUIDs, position in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

}  // namespace gpuprobe
