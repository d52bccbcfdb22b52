// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <numeric>

#include "plan/placement.h"
#include "plan/size_math.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe {
namespace {

struct Candidate {
    const Gpu* gpu = nullptr;
    Budget budget = {};
    Slot slot = {};
};

bool can_use(const Gpu& gpu, std::string_view backend) {
    const auto found = gpu.backends.find(std::string{backend});
    return found != gpu.backends.end() && found->second.usable.value_or(false);
}

/// Every backend that there is to ask about said no.
bool computes_nothing(const Gpu& gpu) {
    return !gpu.backends.empty() && std::ranges::all_of(gpu.backends, [](const auto& entry) {
        return entry.second.usable.has_value() && !*entry.second.usable;
    });
}

/// Counted where nobody has tried CUDA or ROCm yet, too: rather too much than too little.
Bytes overhead_of(const PlanRequest& request, const Gpu& gpu) {
    const bool has_context = std::ranges::any_of(gpu.backends, [](const auto& entry) {
        return (entry.first == "cuda" || entry.first == "rocm") &&
               entry.second.usable.value_or(true);
    });
    return request.model && has_context ? kContextOverhead : Bytes{};
}

bool is_named(const PlanRequest& request, const Gpu& gpu) {
    return std::ranges::any_of(request.gpus,
                               [&gpu](const std::string& id) { return goes_by(gpu, id); });
}

std::vector<Candidate> candidates_of(const PlanRequest& request, const Report& report) {
    std::vector<Candidate> candidates;
    for (const auto& gpu : report.gpus) {
        const bool takes_part =
            request.gpus.empty() ? gpu.kind != GpuKind::DisplayOnly : is_named(request, gpu);
        if (!takes_part)
            continue;
        Candidate candidate{.gpu = &gpu,
                            .budget = budget_of(gpu.memory, report.host.memory, request.margin)};
        candidate.slot = {.budget = candidate.budget.bytes.value_or(Bytes{}),
                          .overhead = overhead_of(request, gpu)};
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

Load load_of(const PlanRequest& request) {
    if (request.model)
        return load_of(*request.model, request.run);
    return {.pieces = {request.need.value_or(Bytes{})}, .is_divisible = true};
}

std::optional<LayerCount> layers_of(const PlanRequest& request,
                                    const Load& load,
                                    const std::vector<Slot>& slots) {
    if (!request.model)
        return std::nullopt;
    const auto pieces = place(load, slots, false).pieces;
    return LayerCount{.offloaded = std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0}),
                      .total = load.pieces.size()};
}

std::optional<std::uint64_t> context_of(const PlanRequest& request,
                                        const std::vector<Slot>& slots) {
    if (!request.model)
        return std::nullopt;
    return max_context_of(*request.model, request.run, slots);
}

void explain(const Candidate& candidate, GpuPlan& plan) {
    if (!candidate.budget.available) {
        plan.reasons.push_back(because("memory-unknown", {{"need", to_value(plan.need)}}));
        return;
    }
    if (candidate.budget.source != BudgetSource::Free)
        plan.reasons.push_back(
            because("free-unknown", {{"used", name_of(*candidate.budget.source)}}));
    if (plan.fit == Fit::No)
        plan.reasons.push_back(
            because("too-little-memory",
                    {{"have", to_value(candidate.slot.budget)}, {"need", to_value(plan.need)}}));
}

GpuPlan plan_of(const PlanRequest& request, const Load& load, const Candidate& candidate) {
    GpuPlan plan{.gpu = candidate.gpu->id,
                 .name = candidate.gpu->name,
                 .budget = candidate.budget,
                 .need = whole_of(load, candidate.slot),
                 .overhead = candidate.slot.overhead};
    if (computes_nothing(*candidate.gpu)) {
        plan.fit = Fit::No;
        plan.reasons.push_back(because("not-usable"));
        return plan;
    }
    if (candidate.budget.bytes) {
        const std::vector<Slot> slots{candidate.slot};
        plan.fit = fit_of(load, slots);
        plan.layers = layers_of(request, load, slots);
        plan.max_context = context_of(request, slots);
    }
    explain(candidate, plan);
    return plan;
}

using Candidates = std::vector<const Candidate*>;

/// Those that one backend drives, largest budget first; without the integrated ones where a
/// discrete one is among them and nobody was named.
Candidates members_of(const PlanRequest& request,
                      const std::vector<Candidate>& all,
                      std::string_view backend) {
    Candidates members;
    for (const auto& candidate : all)
        if (can_use(*candidate.gpu, backend))
            members.push_back(&candidate);
    std::erase_if(members, [](const Candidate* member) { return stands_alone(*member->gpu); });
    const bool has_discrete = std::ranges::any_of(
        members, [](const Candidate* member) { return member->gpu->kind == GpuKind::Discrete; });
    if (has_discrete && request.gpus.empty())
        std::erase_if(members, [](const Candidate* member) {
            return member->gpu->kind == GpuKind::Integrated;
        });
    std::ranges::stable_sort(members, [](const Candidate* left, const Candidate* right) {
        return left->slot.budget > right->slot.budget;
    });
    return members;
}

/// Units may share their board's memory, so that together they have no more than that.
Slot slot_in(const Candidates& members, const Candidate& member, const Report& whole) {
    auto slot = member.slot;
    const auto id = whole_id(member.gpu->id);
    const auto board = std::ranges::find(whole.gpus, id, &Gpu::id);
    if (!unit_of(*member.gpu) || board == whole.gpus.end() || !board->memory.physical)
        return slot;
    const auto count = std::ranges::count_if(
        members, [id](const Candidate* other) { return whole_id(other->gpu->id) == id; });
    const Bytes share{board->memory.physical->count / static_cast<std::uint64_t>(count)};
    slot.budget = std::min(slot.budget, share);
    return slot;
}

SetPlan set_of(const PlanRequest& request,
               const Load& load,
               std::string_view backend,
               const Candidates& members,
               const Report& whole) {
    SetPlan set{.backend = std::string{backend}};
    std::vector<Slot> slots;
    bool is_known = true;
    for (const auto* member : members) {
        set.gpus.push_back(member->gpu->id);
        slots.push_back(slot_in(members, *member, whole));
        is_known = is_known && member->budget.bytes;
    }
    set.fit = fit_of(load, slots);
    if (set.fit == Fit::No && !is_known)
        set.fit = Fit::Unknown;  // what is not known could be enough
    set.layers = layers_of(request, load, slots);
    set.max_context = context_of(request, slots);
    const auto placement = place(load, slots, false);
    for (std::size_t i = 0; i < slots.size(); ++i)
        set.shares.push_back(
            {.gpu = set.gpus[i], .need = placement.used[i], .layers = placement.pieces[i]});
    return set;
}

std::vector<SetPlan> sets_of(const PlanRequest& request,
                             const Load& load,
                             const std::vector<Candidate>& candidates,
                             const Report& whole) {
    std::vector<SetPlan> sets;
    for (const auto& api : kApis) {
        const auto members = api.splits_models ? members_of(request, candidates, api.backend)
                                               : std::vector<const Candidate*>{};
        if (members.size() < 2)
            continue;
        auto set = set_of(request, load, api.backend, members, whole);
        const bool is_new = std::ranges::none_of(
            sets, [&set](const SetPlan& earlier) { return earlier.gpus == set.gpus; });
        if (is_new)
            sets.push_back(std::move(set));
    }
    return sets;
}

/// Without GPUs a matrix that is used at both ends is there once: counting it twice errs upwards.
HostPlan host_plan_of(const PlanRequest& request, const Load& load, const HostMemory& memory) {
    HostPlan plan{.available = memory.available, .need = whole_of(load, {})};
    if (request.model)
        plan.need = sum(plan.need, request.model->embedding);
    if (plan.available)
        plan.fit = fit_of({.pieces = {plan.need}}, {{.budget = *plan.available}});
    return plan;
}

bool is_yes(Fit fit) {
    return fit == Fit::Fits || fit == Fit::Tight;
}

}  // namespace

bool Plan::is_possible() const {
    return std::ranges::any_of(gpus, [](const GpuPlan& gpu) { return is_yes(gpu.fit); }) ||
           std::ranges::any_of(together, [](const SetPlan& set) { return is_yes(set.fit); });
}

Plan plan(const PlanRequest& request, const Report& report) {
    Plan result;
    const auto load = load_of(request);
    const ComputeView view{report};
    const auto candidates = candidates_of(request, view.report());
    for (const auto& candidate : candidates)
        result.gpus.push_back(plan_of(request, load, candidate));
    result.together = sets_of(request, load, candidates, report);
    result.host = host_plan_of(request, load, report.host.memory);
    if (request.model) {
        result.need = need_of(*request.model, request.run);
        result.notes = request.model->notes;
    }
    return result;
}

}  // namespace gpuprobe
