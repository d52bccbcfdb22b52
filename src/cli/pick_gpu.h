// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace gpuprobe {

/// The GPU that a person means: its id, its index in the list, its PCI address in any spelling, the
/// path of one of its nodes, or the start of its id, address or NVIDIA UUID if no other starts like
/// it.
///
/// Errors: UnknownDevice, naming the GPUs there are, or those that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

}  // namespace gpuprobe
