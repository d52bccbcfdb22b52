// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Why a GPU's clocks are lower than they could be, as amdgpu, i915 and xe tell in sysfs, in the
/// words of the fact `slowdowns`; empty: nothing slows it down. nullopt where the driver does not
/// tell, and of a device that is not awake, as reading would wake it.
///
/// The driver asks the hardware, amdgpu the firmware, which may take a millisecond and hang with
/// the GPU: for when somebody wants to know, not for each scan.
std::optional<std::vector<std::string>> slowdowns_of(const FileSystem& files,
                                                     const HardwareDevice& device);

/// The folders of the parts (GT) of an Intel GPU: i915 has them below its card, xe below its tiles.
std::vector<std::string> intel_parts(const FileSystem& files, const std::string& device);

}  // namespace gpuprobe::inline inventory
