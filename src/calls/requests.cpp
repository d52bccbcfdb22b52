// SPDX-License-Identifier: Apache-2.0
#include "calls/requests.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "plan/model.h"
#include "plan/need.h"
#include "plan/plan.h"
#include "policy/term.h"
#include "report/compute_view.h"
#include "wire/varlink.h"

namespace gpuprobe::inline calls {
namespace {

/// A plan that waits until the free memory of all its GPUs has been read.
struct WaitingPlan {
    PlanRequest request = {};
    Report report = {};
    HearPlan heard = {};
    std::size_t missing = 1;  ///< pending readings, plus 1 for the loop that requests them

    /// Counts a reading as finished. After the last reading, makes the plan.
    void finish_one() {
        if (--missing > 0)
            return;
        auto found = planned(request, report);
        heard(plan_answer(request, report, std::move(found)));
    }
    void put(const std::string& id, const engine::LiveMemory& live) {
        engine::take_free(live, std::ranges::find(report.gpus, id, &Gpu::id)->memory);
    }
};

/// Whether the request includes `id`, which is a GPU or a partition. A request for a GPU includes
/// its partitions, and a request without ids includes every GPU.
bool is_meant(const std::vector<std::string>& wanted, const std::string& id) {
    return wanted.empty() || std::ranges::any_of(wanted, [&id](const std::string& one) {
               return id == one || id.starts_with(one + "/");
           });
}

/// Returns the error NoMatch, which describes the candidates on the GPUs that the request includes.
Error no_match_among(const std::vector<std::string>& wanted, Decision decision) {
    decision.candidates = separate_candidates(decision.candidates);
    std::erase_if(decision.candidates, [&wanted](const Candidate& candidate) {
        return !candidate.gpu || !is_meant(wanted, *candidate.gpu);
    });
    return {ErrorCode::NoMatch, no_match_of(decision).failure.message};
}

/// Whether an application uses `word` for the same backend as gpuprobe. PyTorch also calls ROCm
/// "cuda", so the word has another meaning if the backend does not support the GPU's vendor.
bool is_ours(const std::string& word, const Gpu& gpu) {
    const auto view = gpu.backends.find(word);
    return view != gpu.backends.end() && !has_reason(view->second.reasons, "vendor-mismatch");
}

/// Changes the ids of GPUs to the spelling in the report. Errors: UnknownDevice.
Status spell_gpus(std::vector<std::string>& wanted, const Report& seen) {
    const ComputeView view{seen};
    for (auto& id : wanted)
        id = TRY(known_id(view.report(), id));
    return Done{};
}

}  // namespace

Value question_for_gpus() {
    Value question{Value::Object{}};
    question["explain"] = true;
    return question;
}

Status keep_accepted(const Decision& decision, const Report& report, PlanRequest& request) {
    const ComputeView view{report};
    std::vector<std::string> kept;
    for (const auto& candidate : separate_candidates(decision.candidates)) {
        if (!candidate.gpu || !is_usable(candidate.verdict) ||
            !is_meant(request.gpus, *candidate.gpu))
            continue;
        // Several backends of one GPU are separate candidates.
        if (std::ranges::find(kept, *candidate.gpu) == kept.end())
            kept.push_back(*candidate.gpu);
        const auto gpu = known_gpu(view, *candidate.gpu);
        if (gpu && is_ours(candidate.backend, **gpu))
            request.backends[*candidate.gpu].push_back(candidate.backend);
    }
    if (kept.empty())
        return no_match_among(request.gpus, decision);
    request.gpus = std::move(kept);
    return Done{};
}

namespace {

/// Calls keep_accepted() with a new decision for the request's application.
Status keep_to_application(uid_t uid,
                           const Report& seen,
                           const engine::Engine& engine,
                           PlanRequest& request) {
    const auto decision = TRY(engine.select(*request.application, question_for_gpus(), uid, seen));
    return keep_accepted(decision, seen, request);
}

}  // namespace

Result<PlanRequest> plan_request_for(const Value& request, const std::string& model) {
    auto asked = TRY(plan_request_from(request));
    // Exactly one of model and need is required.
    if (model.empty() != asked.need.has_value())
        return Error{ErrorCode::InvalidRequest,
                     model.empty() ? "request: give a model or a memory size (need-mib)"
                                   : "request: give a model or a memory size, but not both"};
    if (model.empty())
        return asked;
    auto read = model_from_document(model);
    if (!read)
        return Error{read.error().code == ErrorCode::TooLarge ? ErrorCode::TooLarge
                                                              : ErrorCode::InvalidRequest,
                     read.error().text};
    TRY(check_cache_types(*read, asked.run, asked.flash_attention));
    asked.model = std::move(*read);
    return asked;
}

Status answer_plan(PlanRequest request,
                   uid_t uid,
                   const Report& seen,
                   engine::Engine& engine,
                   const HearPlan& heard) {
    TRY(spell_gpus(request.gpus, seen));
    if (request.application)
        TRY(keep_to_application(uid, seen, engine, request));
    // The readings may finish after this function has returned, so they share the plan's state.
    const auto waiting = std::make_shared<WaitingPlan>();
    waiting->request = std::move(request);
    waiting->report = seen;
    waiting->heard = heard;
    const auto& wanted = waiting->request.gpus;
    for (const auto& gpu : waiting->report.gpus) {
        if (!wanted.empty() && std::ranges::find(wanted, gpu.id) == wanted.end())
            continue;
        ++waiting->missing;
        const auto asked = engine.read_memory(
            gpu.id, false, [waiting, id = gpu.id](const engine::LiveMemory& live) {
                waiting->put(id, live);
                waiting->finish_one();
            });
        if (!asked)  // the GPU is gone, or there are too many readings: keep the report's value
            waiting->finish_one();
    }
    // The loop counts as one more reading, which ends here: if all readings were answered during
    // the loop, the plan is made here.
    waiting->finish_one();
    return Done{};
}

namespace {

constexpr std::size_t kMaxNames = 256;  // maximum number of names of GPUs or APIs in one call

}  // namespace

std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu) {
    // Only PCI devices have the file power/runtime_status at a known path.
    if (gpu.pci && gpu.pci->address)
        if (auto status = files.line("/sys/bus/pci/devices/" + text_of(*gpu.pci->address) +
                                     "/power/runtime_status"))
            return status;
    return gpu.power.runtime_status;
}

bool is_asleep(const FileSystem& files, const Gpu& gpu) {
    const auto state = power_state(files, gpu);
    return state == "suspended" || state == "suspending";
}

std::vector<Action> needs_of(const ProbeRequest& request) {
    std::vector<Action> actions;
    if (request.allow_wake)
        actions.push_back(Action::AllowWake);
    if (request.force)
        actions.push_back(Action::MeasureInUse);
    return actions;
}

namespace {

/// Checks the number of names in one call. Errors: InvalidRequest if there are too many.
Status few_enough(std::size_t gpus, std::size_t apis) {
    if (gpus > kMaxNames || apis > kMaxNames)
        return Error{ErrorCode::InvalidRequest, "too many names"};
    return Done{};
}

}  // namespace

Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files) {
    TRY(few_enough(request.gpus.size(), request.apis.size()));
    const ComputeView view{report};
    for (auto& id : request.gpus) {
        const auto* gpu = TRY(known_gpu(view, id));
        // Refuse the request only for sleeping GPUs that the caller named. The engine leaves out
        // all other sleeping GPUs.
        if (!request.allow_wake && is_asleep(files, *gpu))
            return Error{ErrorCode::WouldWake,
                         gpu->id + ": the GPU is suspended, and allow-wake was not given"};
        id = gpu->id;
    }
    return request;
}

}  // namespace gpuprobe::inline calls
