// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace gpuprobe::inline cli {

/// What `program` ("llama.cpp", "ollama" or "vllm") is to be started with so that it runs the model
/// as it was planned: arguments, for ollama variables and the parameters of a Modelfile. Of several
/// answers the one that holds most: one GPU alone, then GPUs together.
///
/// Errors: InvalidRequest for another program, without a model, or for what the program cannot be
/// told.
Result<std::string> plan_arguments_for(std::string_view program,
                                       const PlanRequest& request,
                                       const Plan& plan);

}  // namespace gpuprobe::inline cli
