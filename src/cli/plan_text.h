// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/screen.h"
#include "plan/plan.h"

namespace gpuprobe::inline cli {

/// What a model takes and where it fits, for people.
std::string plan_text(const PlanRequest& request, const Plan& plan, const Screen& screen);

}  // namespace gpuprobe::inline cli
