// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// The one order of GPUs, best first: one with a usable backend before one where nobody knows,
/// before one without; then discrete, integrated, virtual, unknown, display-only; then more
/// offered_memory() in whole GiB (unknown is last); then the higher compute capability, more memory
/// to the byte, and the id. Nothing else counts, so the order is the same each time.
bool comes_before(const Gpu& left, const Gpu& right);

/// Marks the GPU the firmware shows its pictures on; where it names none, the only one with a
/// connected screen; where none has, the only GPU that is more than a display.
void mark_primary(std::vector<Gpu>& gpus, const std::vector<const HardwareDevice*>& hardware);

}  // namespace gpuprobe::inline report
