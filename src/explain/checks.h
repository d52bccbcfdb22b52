// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "explain/finding.h"
#include "explain/surroundings.h"
#include "report/report.h"

namespace gpuprobe {

/// The evidence of what was found, one object for each; empty when all is well.
using Evidence = std::vector<Value>;

struct MachineCheck {
    std::string_view id;
    Severity severity;
    Evidence (*look)(const Report&, const Surroundings&);
};
struct GpuCheck {
    std::string_view id;
    Severity severity;
    Evidence (*look)(const Report&, const Gpu&);
};

/// In machine_checks.cpp and gpu_checks.cpp: the two lists, in the order of their findings.
const std::vector<MachineCheck>& machine_checks();
const std::vector<GpuCheck>& gpu_checks();

}  // namespace gpuprobe
