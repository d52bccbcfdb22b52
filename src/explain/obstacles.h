// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/explain.h"
#include "report/report.h"

namespace gpuprobe::inline explain {

/// Why a backend is not usable, where that is worth a line.
struct Obstacle {
    std::string backend = {};  ///< "vulkan", or "vulkan, webgpu" where it is the same for both
    std::optional<std::string> gpu = {};  ///< absent: the same on every GPU, or there is none
    std::size_t others = 0;               ///< further GPUs on which it is the same
    std::string text = {};
    std::vector<std::string> fixes = {};
    bool is_uncertain = false;  ///< nobody knows yet whether it works
};

/// In the order of backend_names(). A backend that works on one GPU is no obstacle on a GPU of a
/// vendor for which it is not made; one that works nowhere has at least one line. What is the same
/// for several backends is one line.
/// `findings` are the doctor's of the same report.
std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
