// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/explain.h"
#include "report/report.h"

namespace gpuprobe::inline explain {

/// A reason why a backend can't be used, if it is worth a line.
struct Obstacle {
    std::string backend = {};  ///< "vulkan", or "vulkan, webgpu" if the reason is the same
    std::optional<std::string> gpu = {};  ///< absent: the same on every GPU, or there is no GPU
    std::size_t others = 0;               ///< number of further GPUs with the same reason
    std::string text = {};
    std::vector<std::string> fixes = {};
    bool is_uncertain = false;  ///< not known yet whether it works
};

/// The obstacles of a report, in the order of backend_names(). If a backend works on some GPU, GPUs
/// of vendors that it does not support are no obstacles. A backend that works on no GPU has at
/// least one obstacle. Backends with the same obstacle are joined. `findings` are the doctor's
/// findings for the same report.
std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
