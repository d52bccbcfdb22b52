// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline policy {

/// The chosen GPUs, best first, and their machine.
struct Selection {
    const Report& report;
    std::vector<const Gpu*> gpus = {};  // borrowed from the report
};

/// Whether environment templates may name this fact (listed in docs/consumers.md).
bool is_selector_fact(std::string_view name);

/// The value that makes a runtime use exactly these GPUs. nullopt if it is unknown for one of them
/// or would not distinguish them from the machine's other GPUs.
///
/// An index is only given for an order that the environment template can request, so that it does
/// not depend on the environment in which the GPUs were probed.
std::optional<std::string> selector_fact(std::string_view name, const Selection& selection);

}  // namespace gpuprobe::inline policy
