// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explain/screen.h"
#include "plan/plan.h"

namespace gpuprobe::inline cli {

/// The table of `plan`: the memory that a model needs, and where it fits.
std::string plan_text(const PlanRequest& request, const Plan& plan, const Screen& screen);

/// Arguments for a program that loads the model.
struct ProgramArguments {
    std::string text = {};
    /// The ids of the GPUs that the arguments refer to, in the order in which the program must see
    /// the GPUs; empty if the program runs only on the CPU.
    std::vector<std::string> gpus = {};
};

/// The arguments that make `program` ("llama.cpp", "ollama" or "vllm") run the model as planned;
/// for ollama, the arguments are variables and parameters of a Modelfile. If there are several
/// plans, the plan that puts the largest part of the model on GPUs is used; a plan for a single GPU
/// is preferred to a plan for several.
///
/// Errors: InvalidRequest for any other program, if the plan has no model, or if the program has no
/// option for a part of the plan.
Result<ProgramArguments> plan_arguments_for(std::string_view program,
                                            const PlanRequest& request,
                                            const Plan& plan);

}  // namespace gpuprobe::inline cli
