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

// Checks of requests, and the answers that need the engine. These functions aren't in documents.h
// because the small gpuprobectl builds documents without the engine.

namespace gpuprobe::inline calls {

/// Reads the parameters of a plan: the keys in docs/plan.md with ids of GPUs, and the text of a
/// gpuprobe.model/1 document. `model` is empty if the request gives a memory size instead. Errors:
/// TooLarge, or InvalidRequest with the problem in the request or in the model.
Result<PlanRequest> plan_request_for(const Value& request, const std::string& model);

/// Called with the finished plan.
using HearPlan = std::function<void(const PlanAnswer&)>;

/// The Select request that finds the GPUs that an application may use: a request for every
/// candidate.
Value question_for_gpus();
/// Reduces the request's GPUs to the GPUs for which the application has an accepted candidate. Each
/// GPU gets its accepted backends, except backends for which the application does not use
/// gpuprobe's name. Errors: NoMatch if no GPU remains.
Status keep_accepted(const Decision& decision, const Report& report, PlanRequest& request);

/// Makes a plan after the free memory of each requested GPU has been read. No GPU is woken. `seen`
/// is the machine as the caller `uid` may see it. Errors: UnknownDevice; for an application, also
/// the errors of Engine::select() and keep_accepted(). `heard` isn't called after an error.
Status answer_plan(PlanRequest request,
                   uid_t uid,
                   const Report& seen,
                   engine::Engine& engine,
                   const HearPlan& heard);

/// The GPU's runtime power state, such as "active" or "suspended", which the kernel reports without
/// waking the GPU. If the state cannot be read from the kernel, the function returns the state in
/// the report, which may be nullopt. Source: Documentation/ABI/testing/sysfs-devices-power,
/// runtime_status.
std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu);

/// Whether probing this GPU would wake it.
bool is_asleep(const FileSystem& files, const Gpu& gpu);

/// The privileged actions that a probe request performs.
std::vector<Action> needs_of(const ProbeRequest& request);

/// Returns the request with the ids of GPUs spelled as in the report. Errors: InvalidRequest for
/// too many names; UnknownDevice for an unknown GPU; WouldWake if a GPU is asleep and must not be
/// woken.
Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files);

}  // namespace gpuprobe::inline calls
