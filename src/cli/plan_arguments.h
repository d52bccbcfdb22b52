// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"

namespace gpuprobe {

/// The values behind the options of `plan`, as they were typed; empty: not given.
struct PlanWords {
    std::string need_mib = {};
    std::string context = {};
    std::string batch = {};
    std::string streams = {};
    std::string cache_types = {};
    std::string gpus = {};
    std::string margin_mib = {};
};

/// Reads them, and checks what goes together. Errors: InvalidRequest, naming the option.
Status read_plan_words(const PlanWords& words, PlanArguments& plan);

}  // namespace gpuprobe
