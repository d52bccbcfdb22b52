// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

#include "calls/documents.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace gpuprobe::inline calls {

/// Reads the parameters of a plan: the keys of docs/plan.md with ids of GPUs, and the text of a
/// gpuprobe.model/1. `model` is empty if the request has a need.
/// Errors: InvalidRequest, naming the problem in the request or the model; TooLarge.
Result<PlanRequest> plan_request_for(const Value& request, const std::string& model);

/// Called with the finished plan.
using HearPlan = std::function<void(const PlanAnswer&)>;

/// The select request that lists the GPUs an application may use: it asks for every candidate.
Value question_for_gpus();
/// Reduces the request's GPUs to those for which the application has an accepted candidate, each
/// with the accepted backends (only those that the application names as we do). Errors: NoMatch if
/// no GPU remains.
Status keep_accepted(const Decision& decision, const Report& report, PlanRequest& request);

/// Plans once the free memory of each GPU in question has been read; no GPU is woken. `seen` is the
/// machine as the caller `uid` may see it. Errors: UnknownDevice; for an application, also the
/// errors of Engine::select() and keep_accepted(). `heard` is not called after an error.
Status answer_plan(PlanRequest request,
                   uid_t uid,
                   const Report& seen,
                   engine::Engine& engine,
                   const HearPlan& heard);

}  // namespace gpuprobe::inline calls
