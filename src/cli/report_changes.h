// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// One line of `monitor`.
struct Change {
    std::string event = {};  ///< "gpu-added", "gpu-removed", "gpu-changed", "state", "generation"
    std::optional<std::string> gpu = {};    ///< id
    std::optional<std::string> name = {};   ///< title of that GPU
    std::vector<std::string> changed = {};  ///< members of the GPU that differ
    std::string state = {};                 ///< of the report, after it
    std::uint64_t generation = 0;
};

/// What became different, GPUs first. When only something outside of GPUs did: one "generation".
/// Memory that is free, and the age of facts, are no difference.
std::vector<Change> changes_between(const Report& before, const Report& after);

/// {"event","gpu","name","changed","state","generation","at_usec"}.
Value change_document(const Change& change, WallTime at);
/// "added    pci:0000:01:00.0  NVIDIA H200".
std::string change_text(const Change& change);

}  // namespace gpuprobe::inline cli
