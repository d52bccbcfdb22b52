// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// A line of `monitor`.
struct Change {
    std::string event = {};  ///< one of gpu-added, gpu-removed, gpu-changed, state, generation
    std::optional<std::string> gpu = {};    ///< the GPU's id
    std::optional<std::string> name = {};   ///< the GPU's title
    std::vector<std::string> changed = {};  ///< the GPU's members that have changed
    std::string state = {};                 ///< the report's state after the change
    std::uint64_t generation = 0;
};

/// The differences between two reports, GPUs first. If only something other than a GPU changed, the
/// result is a single change with the event "generation". Changes of free memory and of the age of
/// facts are ignored.
std::vector<Change> changes_between(const Report& before, const Report& after);

/// A change as text, such as "gpu-added    pci:0000:01:00.0  NVIDIA H200".
std::string change_text(const Change& change);

}  // namespace gpuprobe::inline cli
