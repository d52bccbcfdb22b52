// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "cli/arguments.h"

namespace gpuprobe {

/// Reads the words, and checks what goes together. Errors: InvalidRequest, naming the option.
Status read_plan_words(PlanArguments& plan);

}  // namespace gpuprobe
