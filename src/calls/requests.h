// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "calls/documents.h"
#include "calls/methods.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "report/report.h"
#include "report/trials.h"

// Checks of requests, and the answers that need the engine. They are not in documents.h because the
// small gpuprobectl builds documents without the engine.

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

/// The GPU's runtime power state, "active", "suspended" …, as the kernel reports it without waking
/// the GPU. If it can't be read from the kernel: the state in the report, which may be nullopt.
/// Source: Documentation/ABI/testing/sysfs-devices-power, runtime_status.
std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu);

/// Whether probing this GPU would wake it.
bool is_asleep(const FileSystem& files, const Gpu& gpu);

/// The privileged actions of a probe request.
std::vector<Action> needs_of(const ProbeRequest& request);

/// Checks the number of names in one call. Errors: InvalidRequest if there are too many.
Status few_enough(std::size_t gpus, std::size_t apis);

/// The request with its GPUs in the report's spelling. Errors: InvalidRequest for too many names;
/// UnknownDevice; WouldWake if a GPU sleeps and may not be woken.
Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files);

}  // namespace gpuprobe::inline calls
