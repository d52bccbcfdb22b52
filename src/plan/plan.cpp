// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/need.h"
#include "plan/size_math.h"
#include "policy/closest_miss.h"
#include "policy/fact.h"
#include "policy/known_bad.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/fact_key.h"
#include "report/outcome.h"
#include "report/report.h"

namespace gpuprobe::inline plan {
namespace {

/// The view of a GPU that an API reports; nullptr if the API gives the GPU no position.
const ApiView* view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    return found != gpu.apis.end() && found->second.index ? &found->second : nullptr;
}

/// Whether a single driver lists all the GPUs.
bool are_of_one_list(const std::vector<const Gpu*>& gpus, std::string_view api) {
    const auto* first = gpus.empty() ? nullptr : view_of(*gpus.front(), api);
    return first && std::ranges::all_of(gpus, [&](const Gpu* gpu) {
               const auto* view = view_of(*gpu, api);
               return view && view->driver == first->driver;
           });
}

/// Number of a GPU's execution units. Only Level Zero reports the number of execution units.
std::uint64_t units_of(const Gpu* gpu, std::string_view api) {
    return fact(view_of(*gpu, api)->device, facts::kExecutionUnits).value_or(0);
}

/// Sorts GPUs into the order in which llama.cpp lists them when it may use only these GPUs.
/// llama.cpp uses the order of positions in the API's driver; only the SYCL backend has its own
/// order. If the order is unknown, the GPUs aren't reordered. The caller keeps ownership of the
/// GPUs.
///
/// Source: CUDA, ROCm and Vulkan keep the order of the driver, or of the variable that lists the
/// GPUs (data/knowledge/selectors.json). SYCL: dev_mgr in ggml/src/ggml-sycl/dpct/helper.hpp,
/// ggml-org/llama.cpp at 0746c0d13b7b. The device of gpu_selector_v comes first, then the other
/// devices by descending number of compute units, from the list of Level Zero, which is sorted by
/// address if ZE_ENABLE_PCI_ID_DEVICE_ORDER is set.
std::vector<const Gpu*> in_runtime_order(std::string_view backend, std::vector<const Gpu*> gpus) {
    const auto* api = find_api_of_backend(backend);
    if (!api || !are_of_one_list(gpus, api->word))
        return gpus;
    if (!backend_traits(backend).lists_by_units) {
        std::ranges::stable_sort(gpus, {},
                                 [&](const Gpu* gpu) { return *view_of(*gpu, api->word)->index; });
        return gpus;
    }
    std::ranges::stable_sort(
        gpus, {}, [](const Gpu* gpu) { return gpu->pci ? gpu->pci->address : std::nullopt; });
    std::ranges::stable_sort(gpus.begin() + 1, gpus.end(), std::ranges::greater{},
                             [&](const Gpu* gpu) { return units_of(gpu, api->word); });
    return gpus;
}

/// A GPU that takes part in the plan.
struct Candidate {
    const Gpu* gpu = nullptr;
    Budget budget = {};
    std::string_view backend = {};  ///< the backend in the plan for only this GPU
    Slot slot = {};
};

/// The backends that the application can use on the GPU; nullptr if there is no application or if
/// nothing is known.
const std::vector<std::string>* backends_of(const PlanRequest& request, const Gpu& gpu) {
    const auto found = request.backends.find(gpu.id);
    return found == request.backends.end() || found->second.empty() ? nullptr : &found->second;
}

/// The backend for a plan that uses only this GPU.
std::string_view backend_on(const PlanRequest& request, const Gpu& gpu) {
    const auto* accepted = backends_of(request, gpu);
    return accepted ? std::string_view{accepted->front()} : backend_for(gpu);
}

/// Whether the GPU can be part of a set of GPUs that uses the backend `backend`. An application
/// uses each GPU only through the preferred backend for this GPU, so that no GPU is used twice.
bool can_use(const PlanRequest& request, const Gpu& gpu, std::string_view backend) {
    if (const auto* accepted = backends_of(request, gpu))
        return accepted->front() == backend;
    const auto found = gpu.backends.find(std::string{backend});
    return found != gpu.backends.end() && found->second.usable.value_or(false);
}

/// Whether every known backend of the GPU was reported as unusable.
bool computes_nothing(const Gpu& gpu) {
    return !gpu.backends.empty() && std::ranges::all_of(gpu.backends, [](const auto& entry) {
        return entry.second.usable.has_value() && !*entry.second.usable;
    });
}

/// The reason why no backend works on the GPU; it names the backend that needs the fewest changes
/// to work, and the reasons against that backend.
Reason no_usable_backend(const Gpu& gpu) {
    const auto closest = std::ranges::max_element(
        gpu.backends, {}, [](const auto& entry) { return closest_miss_of(entry.second.reasons); });
    Value::Object detail{{"backend", closest->first}};
    if (!closest->second.reasons.empty())
        detail.push_back({"reasons", to_value(closest->second.reasons)});
    return because("not-usable", std::move(detail));
}

/// The settings for running the model on a backend.
RunShape run_on(const PlanRequest& request, std::string_view backend) {
    auto run = request.run;
    if (!request.model)
        return run;
    run.flash_attention =
        uses_flash_attention(request.flash_attention, *request.model, run, backend);
    run.widens_cache = backend_traits(backend).widens_cache;
    return run;
}

/// The size of the memory for the driver's context on the GPU.
Bytes overhead_of(const PlanRequest& request, const Gpu& gpu, std::string_view backend) {
    return request.model ? request.context_overhead.value_or(context_memory(gpu, backend))
                         : Bytes{};
}

/// The largest buffer that the backend's driver supports on the GPU; nullopt if unknown.
std::optional<Bytes> buffer_limit_of(const Gpu& gpu, std::string_view backend) {
    const Report none;
    return Facts{{.report = none, .gpu = &gpu, .backend = backend}}
        .get<Bytes>(FactId::MaxBuffer)
        .value;
}

Slot slot_of(const PlanRequest& request,
             const Candidate& candidate,
             std::string_view backend,
             bool has_projector) {
    const auto overhead = overhead_of(request, *candidate.gpu, backend);
    return {.budget = candidate.budget.bytes.value_or(Bytes{}),
            .overhead = has_projector ? sum(overhead, request.projector) : overhead,
            .weight = static_cast<float>(candidate.budget.available.value_or(Bytes{}).count),
            .buffer_limit = buffer_limit_of(*candidate.gpu, backend)};
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
        candidate.backend = backend_on(request, gpu);
        candidate.slot = slot_of(request, candidate, candidate.backend, true);
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

/// The load for a backend, which is the model with the backend's traits, or only a number of bytes.
Load load_of(const PlanRequest& request, std::string_view backend) {
    if (!request.model)
        return {.bytes = request.need.value_or(Bytes{})};
    return {.model = &*request.model,
            .run = run_on(request, backend),
            .pipeline_copies = backend_traits(backend).pipeline_copies,
            .is_reordered = backend_traits(backend).reorders};
}

/// The number of layers that fit if nothing is kept in reserve.
std::optional<LayerCount> layers_of(const Load& load, const std::vector<Slot>& slots) {
    if (!load.model)
        return std::nullopt;
    const auto pieces = place(load, slots, false).pieces;
    return LayerCount{.offloaded = std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0}),
                      .total = load.pieces()};
}

std::optional<std::uint64_t> context_of(const Load& load, const std::vector<Slot>& slots) {
    return load.model ? max_context_of(load, slots) : std::nullopt;
}

/// Adds reasons for a bad or uncertain fit.
void explain(const Candidate& candidate, GpuPlan& plan) {
    if (!candidate.budget.available) {
        plan.reasons.push_back(because("memory-unknown", {{"need", to_value(plan.need)}}));
        return;
    }
    if (candidate.budget.source != BudgetSource::Free)
        plan.reasons.push_back(
            because("free-unknown", {{"used", name_of(*candidate.budget.source)}}));
    if (plan.fit == Fit::No && plan.need > candidate.slot.budget)
        plan.reasons.push_back(
            because("too-little-memory",
                    {{"have", to_value(candidate.slot.budget)}, {"need", to_value(plan.need)}}));
}

/// The backends that a program may use on the GPU, if the request defines them.
std::vector<std::string> possible_backends(const PlanRequest& request, const Gpu& gpu) {
    if (const auto* accepted = backends_of(request, gpu))
        return {accepted->front()};
    std::vector<std::string> usable;
    for (const auto& [backend, view] : gpu.backends)
        if (view.usable == true)
            usable.push_back(backend);
    return usable;
}

/// Adds the known faults that concern memory. Each fault is added only once, because a plan without
/// an application covers several backends, which can have the same fault.
void add_known_faults(const PlanRequest& request,
                      const Candidate& candidate,
                      KnownBad& known_bad,
                      GpuPlan& plan) {
    for (const auto& backend : possible_backends(request, *candidate.gpu))
        for (auto& fault : known_bad.on(*candidate.gpu, backend)) {
            const bool counts =
                fault.detail.at("fault") == to_value(Fault::Memory) || backend == candidate.backend;
            if (counts && std::ranges::find(plan.reasons, fault) == plan.reasons.end())
                plan.reasons.push_back(std::move(fault));
        }
}

/// Adds a reason with the maximum size of a buffer, if a tensor of the model exceeds this size.
/// If there is no model, it is unknown how a program divides the memory, so the maximum size is
/// only a remark.
void add_buffer_limit(const Load& load, const Candidate& candidate, GpuPlan& plan) {
    const auto& limit = candidate.slot.buffer_limit;
    const auto need = load.model ? largest_of(load, candidate.slot) : plan.need;
    if (!limit || need <= *limit)
        return;
    const Value::Object detail{
        {"backend", candidate.backend}, {"have", to_value(*limit)}, {"need", to_value(need)}};
    plan.reasons.push_back(load.model ? because("buffer-too-large", detail)
                                      : because("buffer-limit", detail));
}

GpuPlan plan_of(const PlanRequest& request, const Candidate& candidate) {
    const auto load = load_of(request, candidate.backend);
    GpuPlan plan{.gpu = candidate.gpu->id,
                 .name = candidate.gpu->title ? candidate.gpu->title : candidate.gpu->name,
                 .budget = candidate.budget,
                 .physical = candidate.gpu->memory.physical,
                 .need = whole_of(load, candidate.slot),
                 .overhead = overhead_of(request, *candidate.gpu, candidate.backend),
                 .flash_attention = load.run.flash_attention};
    // Memory does not matter if the GPU cannot be used for compute.
    if (computes_nothing(*candidate.gpu)) {
        plan.fit = Fit::No;
        plan.reasons.push_back(no_usable_backend(*candidate.gpu));
        return plan;
    }
    if (candidate.budget.bytes) {
        const std::vector<Slot> slots{candidate.slot};
        plan.fit = fit_of(load, slots);
        plan.layers = layers_of(load, slots);
        plan.max_context = context_of(load, slots);
    }
    explain(candidate, plan);
    return plan;
}

using Candidates = std::vector<const Candidate*>;

void put_in_runtime_order(std::string_view backend, Candidates& members) {
    std::vector<const Gpu*> gpus;
    for (const auto* member : members)
        gpus.push_back(member->gpu);
    const auto order = in_runtime_order(backend, std::move(gpus));
    std::ranges::sort(members, {}, [&order](const Candidate* member) {
        return std::ranges::find(order, member->gpu) - order.begin();
    });
}

/// The GPUs that one backend can use together. Integrated GPUs are left out if there is a discrete
/// GPU and the request does not name GPUs.
Candidates members_of(const PlanRequest& request,
                      const std::vector<Candidate>& all,
                      std::string_view backend) {
    Candidates members;
    for (const auto& candidate : all)
        if (can_use(request, *candidate.gpu, backend))
            members.push_back(&candidate);
    // A MIG instance cannot be combined with other devices.
    std::erase_if(members, [](const Candidate* member) { return stands_alone(*member->gpu); });
    const bool has_discrete = std::ranges::any_of(
        members, [](const Candidate* member) { return member->gpu->kind == GpuKind::Discrete; });
    if (has_discrete && request.gpus.empty())
        std::erase_if(members, [](const Candidate* member) {
            return member->gpu->kind == GpuKind::Integrated;
        });
    if (request.model)
        put_in_runtime_order(backend, members);
    return members;
}

/// Limits the budget of a partition of a GPU. Partitions may share the memory of their board, and
/// together cannot use more than this memory.
Slot within_board(Slot slot,
                  const Candidates& members,
                  const Candidate& member,
                  const Report& whole) {
    const auto id = whole_id(member.gpu->id);
    const auto* board = find_gpu(whole, id);
    if (!partition_of(*member.gpu) || !board || !board->memory.physical)
        return slot;
    const auto count = std::ranges::count_if(
        members, [id](const Candidate* other) { return whole_id(other->gpu->id) == id; });
    const Bytes share{board->memory.physical->count / static_cast<std::uint64_t>(count)};
    slot.budget = std::min(slot.budget, share);
    return slot;
}

SetPlan set_of(const PlanRequest& request,
               std::string_view backend,
               const Candidates& members,
               const Report& whole) {
    SetPlan set{.backend = std::string{backend}};
    const auto load = load_of(request, backend);
    std::vector<Slot> slots;
    bool is_known = true;
    for (const auto* member : members) {
        set.gpus.push_back(member->gpu->id);
        const auto slot = slot_of(request, *member, backend, member == members.front());
        slots.push_back(within_board(slot, members, *member, whole));
        is_known = is_known && member->budget.bytes;
    }
    // An explicit split replaces the weights; GPUs without a number in the split get nothing.
    for (std::size_t i = 0; i < slots.size() && !request.tensor_split.empty(); ++i)
        slots[i].weight = i < request.tensor_split.size() ? request.tensor_split[i] : 0;
    if (request.model && request.tensor_split.empty())
        slots = best_split(load, slots);
    set.flash_attention = load.run.flash_attention;
    set.fit = fit_of(load, slots);
    if (set.fit == Fit::No && !is_known)
        set.fit = Fit::Unknown;  // a GPU of unknown size might have enough memory
    set.layers = layers_of(load, slots);
    set.max_context = context_of(load, slots);
    const auto placement = place(load, slots, set.fit == Fit::Fits);
    for (std::size_t i = 0; i < slots.size(); ++i)
        set.shares.push_back(
            {.gpu = set.gpus[i], .need = placement.used[i], .layers = placement.pieces[i]});
    return set;
}

std::vector<SetPlan> sets_of(const PlanRequest& request,
                             const std::vector<Candidate>& candidates,
                             const Report& whole) {
    std::vector<SetPlan> sets;
    const auto same_gpus = [](std::vector<std::string> left, std::vector<std::string> right) {
        std::ranges::sort(left);
        std::ranges::sort(right);
        return left == right;
    };
    // Each backend has one set, unless an earlier backend uses the same GPUs.
    for (const auto& api : kApis) {
        const auto members = api.splits_models ? members_of(request, candidates, api.backend)
                                               : std::vector<const Candidate*>{};
        if (members.size() < 2)
            continue;
        auto set = set_of(request, api.backend, members, whole);
        const bool is_new = std::ranges::none_of(
            sets, [&](const SetPlan& earlier) { return same_gpus(earlier.gpus, set.gpus); });
        if (is_new)
            sets.push_back(std::move(set));
    }
    return sets;
}

/// If the CPU computes everything, a tied matrix exists only once. If the matrix were counted
/// twice, the estimate would be too high.
HostPlan host_plan_of(const PlanRequest& request, const HostMemory& memory) {
    HostPlan plan{.available = memory.available, .need = request.need.value_or(Bytes{})};
    if (request.model) {
        auto need = need_of(*request.model, run_on(request, "cpu"), true);
        const auto weights =
            sum(sum(need.layers, need.output), sum(need.embedding, request.projector));
        plan.need = sum(weights, sum(need.cache, need.compute));
    }
    if (plan.available)
        plan.fit = fit_of({.bytes = plan.need}, {{.budget = *plan.available}});
    return plan;
}

bool is_yes(Fit fit) {
    return fit == Fit::Fits || fit == Fit::Tight;
}

}  // namespace

Budget budget_of(const GpuMemory& memory, const HostMemory& host, Bytes margin) {
    Budget budget;
    const auto take = [&budget](const std::optional<Bytes>& bytes, BudgetSource source) {
        if (budget.available || !bytes)
            return;
        budget.available = bytes;
        budget.source = source;
    };
    // Use the first size that is known.
    take(memory.free, BudgetSource::Free);
    take(memory_for_use(memory).value,
         memory.allocatable ? BudgetSource::Allocatable : BudgetSource::Physical);
    budget.is_shared_with_host = memory.kind == MemoryKind::Unified;
    if (budget.available && budget.is_shared_with_host && host.available)
        budget.available = std::min(*budget.available, *host.available);
    if (budget.available)
        budget.bytes = difference(*budget.available, margin);
    return budget;
}

bool Plan::is_possible() const {
    return std::ranges::any_of(gpus, [](const GpuPlan& gpu) { return is_yes(gpu.fit); }) ||
           std::ranges::any_of(together, [](const SetPlan& set) { return is_yes(set.fit); });
}

Plan planned(const PlanRequest& request, const Report& report) {
    Plan result;
    // In this view of the report, partitions of a divided GPU appear as GPUs.
    const ComputeView view{report};
    const auto candidates = candidates_of(request, view.report());
    KnownBad known_bad{view.report()};
    for (const auto& candidate : candidates) {
        result.gpus.push_back(plan_of(request, candidate));
        add_known_faults(request, candidate, known_bad, result.gpus.back());
        add_buffer_limit(load_of(request, candidate.backend), candidate, result.gpus.back());
    }
    result.together = sets_of(request, candidates, report);
    result.host = host_plan_of(request, report.host.memory);
    if (request.model) {
        // The needs by purpose are shown for the backend of the first GPU; if there is no GPU, for
        // the CPU.
        const auto backend = candidates.empty() ? std::string_view{} : candidates.front().backend;
        const auto run = run_on(request, backend);
        result.need = need_of(*request.model, run, candidates.empty());
        result.need->projector = request.projector;
        result.has_flash_attention = run.flash_attention;
        result.notes = request.model->notes;
    }
    for (auto& stale : stale_among(report.notes))
        result.notes.push_back(std::move(stale));
    return result;
}

}  // namespace gpuprobe::inline plan
