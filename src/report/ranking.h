// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// The only order of GPUs, best first. GPUs with a usable backend come first, then those for which
/// that is unknown, then all others. Ties are broken by kind (discrete, integrated, virtual,
/// unknown, display-only), then by offered_memory() in whole GiB (larger first, unknown last),
/// compute capability (higher first), memory in bytes, and id. The order does not depend on
/// anything else, so it is the same each time.
bool comes_before(const Gpu& left, const Gpu& right);

/// Marks the GPU that the firmware displays on. If the firmware names none, marks the only one with
/// a connected screen; if no GPU has one, the only GPU that is not display-only.
void mark_primary(std::vector<Gpu>& gpus, const std::vector<const HardwareDevice*>& hardware);

}  // namespace gpuprobe::inline report
