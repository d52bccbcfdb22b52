// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "probe/target.h"
#include "report/report.h"

namespace gpuprobe {

/// A device that is asked to compute.
struct TrialTarget {
    ProbeTarget target = {};
    const Gpu* gpu = nullptr;  ///< borrowed from the report; null for software and the processor
};

/// Who is asked to compute for a request of the stage "verify" or "measure": each GPU through each
/// API that lists it, by the driver that the API's view rests on, unless the backend is known not
/// to be usable for another reason than what it computed; where no GPU is named, the software
/// implementations and the processor as well. `queries`: what the machine offers.
std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request);

/// Whether `word` names an API that runs kernels.
bool computes(std::string_view api);

}  // namespace gpuprobe
