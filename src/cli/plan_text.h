// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explain/screen.h"
#include "plan/plan.h"

namespace gpuprobe::inline cli {

/// What a model takes and where it fits, for people.
std::string plan_text(const PlanRequest& request, const Plan& plan, const Screen& screen);

struct ProgramArguments {
    std::string text = {};
    /// The GPUs that they are for, by id, in the order in which the program has to list them; none
    /// for the host alone.
    std::vector<std::string> gpus = {};
};

/// What `program` ("llama.cpp", "ollama" or "vllm") is to be started with so that it runs the model
/// as it was planned: arguments, for ollama variables and the parameters of a Modelfile. Of several
/// answers the one that holds most: one GPU alone, then GPUs together.
///
/// Errors: InvalidRequest for another program, without a model, or for what the program cannot be
/// told.
Result<ProgramArguments> plan_arguments_for(std::string_view program,
                                            const PlanRequest& request,
                                            const Plan& plan);

}  // namespace gpuprobe::inline cli
