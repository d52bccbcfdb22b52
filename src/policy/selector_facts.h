// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline policy {

/// The GPUs that were chosen, best first, and the machine they are in.
struct Selection {
    const Report& report;
    std::vector<const Gpu*> gpus = {};  // borrowed from the report
};

/// Whether environment templates may name this fact (docs/consumers.md lists them).
bool is_selector_fact(std::string_view name);

/// What a runtime needs to be told so that it uses exactly these GPUs; nullopt when that is not
/// known for each of them, or when the form would not tell them from the machine's other GPUs.
///
/// A position is only given in an order that the environment template itself can ask for, so that
/// it does not depend on the environment in which a probe ran.
std::optional<std::string> selector_fact(std::string_view name, const Selection& selection);

}  // namespace gpuprobe::inline policy
