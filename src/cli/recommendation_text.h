// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/screen.h"
#include "policy/recommendation.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// "cu130 on NVIDIA H200 (pci:0000:00:06.0)", where to get it, what comes next, and warnings.
/// `report` names the GPUs; null leaves their ids. Pure.
std::string recommendation_text(const Recommendation& answer,
                                const Report* report,
                                const Screen& screen);

/// Every variant with a sentence, then what helps. Pure.
std::string variants_text(const Recommendation& answer, const Screen& screen);

}  // namespace gpuprobe::inline cli
