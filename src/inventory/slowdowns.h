// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The reasons why a GPU's clocks are reduced, from the sysfs files of amdgpu, i915 and xe, in the
/// words of the fact `slowdowns`. Empty if nothing reduces them. nullopt if the driver does not
/// report reasons, and for a suspended device, because reading would wake it.
///
/// The driver queries the hardware (amdgpu: the firmware), which may take a millisecond and hang
/// with the GPU. Call it on request, not in every scan.
std::optional<std::vector<std::string>> slowdowns_of(const FileSystem& files,
                                                     const HardwareDevice& device);

/// The folders of the GTs (render or media units) of an Intel GPU: i915 has them below its card, xe
/// below its tiles.
std::vector<std::string> intel_parts(const FileSystem& files, const std::string& device);

}  // namespace gpuprobe::inline inventory
