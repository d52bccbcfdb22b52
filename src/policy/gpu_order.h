// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe {

/// The report's GPUs, best first, whatever their order in the report: by kind (discrete,
/// integrated, virtual, unknown, display-only), then by physical memory in whole GiB (allocatable
/// where that is unknown; more is better, unknown is last), then by compute capability, memory to
/// the byte, and id. Borrowed from the report.
std::vector<const Gpu*> in_order(const Report& report);

/// Whether one build and one set of choices fits both: the same vendor and architecture or, where
/// an architecture is unknown, the same PCI device id. A GPU is always like itself.
bool is_alike(const Gpu& left, const Gpu& right);

}  // namespace gpuprobe
