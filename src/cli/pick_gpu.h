// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {

/// The GPU that a person means: its id, its index in the list, its PCI address in any spelling, the
/// path of one of its nodes; the start of its id, address or NVIDIA UUID if no other starts like
/// it; or a part of its name that no other has, of more than two digits where it is a number.
///
/// Errors: UnknownDevice, naming the GPUs there are, or those that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

/// The same, and of a divided GPU also a unit: by its id, by what pick_gpu() takes for the GPU with
/// a slash and the unit's name behind it ("0/mig-1"), by its UUID or its own node.
Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector);

/// All GPUs that the selector could mean by the closest of these ways; none when it fits none.
std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector);
std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector);

/// "pci:0000:01:00.0 (Card), …".
std::string gpu_listing(const std::vector<const Gpu*>& gpus);

}  // namespace gpuprobe::inline cli
