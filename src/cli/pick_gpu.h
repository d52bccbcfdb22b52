// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {

/// The GPU that the user means. A selector is one of these, tried in this order: the GPU's index in
/// the list; its id, its PCI address in any spelling, or the path of one of its nodes; the start of
/// its id, PCI address or NVIDIA UUID; a part of its name. A name's part that is a number needs
/// more than two digits. The last two must fit only one GPU.
///
/// Errors: UnknownDevice, listing the GPUs that exist, or the GPUs that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

/// The same, and also partitions of a divided GPU: by id, by a selector for the GPU followed by a
/// slash and the partition's name ("0/mig-1"), by UUID, or by the partition's own node.
Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector);

/// All GPUs that match in the first of these ways that any GPU matches.
std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector);
std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector);

/// "pci:0000:01:00.0 (Card), …".
std::string gpu_listing(const std::vector<const Gpu*>& gpus);

}  // namespace gpuprobe::inline cli
