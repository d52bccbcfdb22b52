// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

#include "calls/documents.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace gpuprobe::inline calls {

/// What is asked: the keys of docs/plan.md with ids of GPUs, and the text of a gpuprobe.model/1, or
/// nothing where the request has a need.
///
/// Errors: InvalidRequest, with what is wrong with request or model; TooLarge.
Result<PlanRequest> plan_request_for(const Value& request, const std::string& model);

using HearPlan = std::function<void(const PlanAnswer&)>;

/// What select is asked for the GPUs that a consumer may use: every candidate.
Value question_for_gpus();
/// Leaves of the GPUs those on which a candidate of the consumer's is accepted, each with the
/// backends that are, where the consumer calls them as we do. Errors: NoMatch, where that is none.
Status keep_accepted(const Decision& decision, const Report& report, PlanRequest& request);

/// Answers when what is free was read on each GPU that takes part, of which none is woken. `seen`
/// is the machine as the caller `uid` sees it. Errors: UnknownDevice; as Engine::select() and
/// keep_accepted(), for a consumer; then `heard` is not called.
Status answer_plan(PlanRequest request,
                   uid_t uid,
                   const Report& seen,
                   engine::Engine& engine,
                   const HearPlan& heard);

}  // namespace gpuprobe::inline calls
