// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/report.h"

namespace gpuprobe::inline policy {

/// The report's GPUs in the order of comes_before(), whatever their order in the report. Borrowed
/// from the report.
std::vector<const Gpu*> in_order(const Report& report);

/// The GPU that a decision names first, or whose unit it names; where it names none, the first that
/// is more than a display. Null when there is none. Borrowed from the report.
const Gpu* default_gpu(const Report& report, const std::vector<std::string>& chosen);

/// Puts that one before all others, whose order stays.
void put_default_first(Report& report, const std::vector<std::string>& chosen);

/// Whether one build and one set of choices fits both: the same vendor and architecture or, where
/// an architecture is unknown, the same PCI device id. A GPU is always like itself.
bool is_alike(const Gpu& left, const Gpu& right);

}  // namespace gpuprobe::inline policy
