// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "plan/model.h"
#include "plan/need.h"
#include "policy/request_table.h"
#include "report/report.h"

/// Computes whether a model fits on one GPU and on several GPUs, and how much of the model fits.
/// These functions are pure: the result depends only on the arguments.
namespace gpuprobe::inline plan {

/// The kind of reading on which a budget is based.
enum class BudgetSource { Free, Allocatable, Physical };
constexpr std::array<EnumName<BudgetSource>, 3> names_of(BudgetSource) {
    return {{{BudgetSource::Free, "free"},
             {BudgetSource::Allocatable, "allocatable"},
             {BudgetSource::Physical, "physical"}}};
}

/// The memory of one GPU that a program may use.
struct Budget {
    /// memory before the margin is subtracted; null if unknown
    std::optional<Bytes> available = {};
    std::optional<BudgetSource> source = {};  ///< the source of `available`
    std::optional<Bytes> bytes = {};          ///< the budget, after the margin was subtracted
    bool is_shared_with_host = false;         ///< whether the host's free memory limits the budget
    bool operator==(const Budget&) const = default;
};
RECORD_MEMBERS(Budget, available, source, bytes, is_shared_with_host)

/// The memory that llama.cpp keeps free on each device when llama.cpp itself decides how much of a
/// model to offload (common/fit.cpp).
constexpr Bytes kDefaultMargin = mib(1024);

/// The free memory minus the margin. If no driver reports the free memory, the allocatable memory
/// or the memory on the board is used instead. Unified memory is shared with the host, so the
/// host's available memory is also a limit. The carve-out of an AMD GPU is reserved for the GPU,
/// and the report already limits the memory beyond the carve-out.
Budget budget_of(const GpuMemory& memory, const HostMemory& host, Bytes margin);

enum class Fit {
    Fits,   ///< the load fits even if each size is a tenth larger than estimated
    Tight,  ///< the load fits, but the estimate's error may exceed the remaining memory
    No,
    Unknown,  ///< the size of the GPU's memory is not known
};
constexpr std::array<EnumName<Fit>, 4> names_of(Fit) {
    return {
        {{Fit::Fits, "fits"}, {Fit::Tight, "tight"}, {Fit::No, "no"}, {Fit::Unknown, "unknown"}}};
}

/// A request: a model, or a number of bytes for any purpose.
struct PlanRequest {
    std::optional<Model> model = {};
    std::optional<Bytes> need = {};  ///< number of bytes, if there is no model
    Bytes projector = {};            ///< a multimodal projector on the first GPU
    RunShape run = {};
    std::optional<std::uint64_t> micro_batch = {};          ///< upper limit of run.batch
    FlashAttention flash_attention = FlashAttention::Auto;  ///< determines run.flash_attention
    /// share of each GPU; if empty, shares depend on free memory
    std::vector<float> tensor_split = {};
    /// size of the driver's context; null means context_memory()
    std::optional<Bytes> context_overhead = {};
    Bytes margin = kDefaultMargin;
    std::vector<std::string> gpus = {};  ///< ids of the GPUs; if empty, all GPUs that can compute
    /// The caller resolves the name of the application by restricting `gpus` to the GPUs that
    /// select() accepts for the application, and by setting `backends` (calls/documents.h).
    std::optional<std::string> application = {};
    /// gpuprobe's names for the backends that should be used, best first; the keys are ids of GPUs.
    /// On a GPU that isn't a key, any working backend is used.
    std::map<std::string, std::vector<std::string>> backends = {};
};

/// Number of offloaded layers, counted as in llama.cpp's option --n-gpu-layers, which counts from
/// the last layer and includes the output.
struct LayerCount {
    std::uint64_t offloaded = 0;
    std::uint64_t total = 0;
    bool operator==(const LayerCount&) const = default;
};
RECORD_MEMBERS(LayerCount, offloaded, total)

/// The plan for a single GPU.
struct GpuPlan {
    std::string gpu = {};  ///< id of the GPU
    std::optional<std::string> name = {};
    Fit fit = Fit::Unknown;
    Budget budget = {};
    std::optional<Bytes> physical = {};  ///< memory on the board
    Bytes need = {};                     ///< memory needed to run everything on this GPU
    Bytes overhead = {};                 ///< the driver's context, included in `need`
    bool flash_attention = false;
    /// number of layers that fit on this GPU; null without a model or a budget
    std::optional<LayerCount> layers = {};
    /// largest context for which everything `fits`; null if there is no such context
    std::optional<std::uint64_t> max_context = {};
    std::vector<Reason> reasons = {};  ///< reasons why `fit` is not better, or not certain
    bool operator==(const GpuPlan&) const = default;
};
RECORD_MEMBERS(GpuPlan,
               gpu,
               name,
               fit,
               budget,
               physical,
               need,
               overhead,
               flash_attention,
               layers,
               max_context,
               reasons)

/// The part that one GPU gets in a split.
struct Share {
    std::string gpu = {};
    Bytes need = {};  ///< memory needed on this GPU, including the driver's context
    std::uint64_t layers = 0;
    bool operator==(const Share&) const = default;
};
RECORD_MEMBERS(Share, gpu, need, layers)

/// The plan for several GPUs that one backend uses together.
struct SetPlan {
    std::string backend = {};
    /// the GPUs' ids, in the order in which the runtime lists the GPUs
    std::vector<std::string> gpus = {};
    Fit fit = Fit::Unknown;
    bool flash_attention = false;
    std::optional<LayerCount> layers = {};
    std::optional<std::uint64_t> max_context = {};
    std::vector<Share> shares = {};
    bool operator==(const SetPlan&) const = default;
};
RECORD_MEMBERS(SetPlan, backend, gpus, fit, flash_attention, layers, max_context, shares)

/// The plan for the host: everything is in host memory, and the CPU computes.
struct HostPlan {
    Fit fit = Fit::Unknown;
    std::optional<Bytes> available = {};
    Bytes need = {};
    bool operator==(const HostPlan&) const = default;
};
RECORD_MEMBERS(HostPlan, fit, available, need)

/// The answer to a plan request.
struct Plan {
    std::optional<Need> need = {};     ///< the model's memory by purpose; null if there is no model
    bool has_flash_attention = false;  ///< whether `need` was computed with flash attention
    std::vector<GpuPlan> gpus = {};    ///< one plan for each GPU, in the order of the report
    /// one plan for each backend that can use at least two GPUs
    std::vector<SetPlan> together = {};
    HostPlan host = {};
    std::vector<Reason> notes = {};
    bool operator==(const Plan&) const = default;

    /// Whether the load fits, at least tightly, on one GPU or on one set of GPUs.
    [[nodiscard]] bool is_possible() const;
};
RECORD_MEMBERS(Plan, need, ("flash_attention", has_flash_attention), gpus, together, host, notes)

/// Answers a request. GPUs that can only drive displays are left out. Integrated GPUs are left out
/// of sets of GPUs that contain a discrete GPU. If the request names GPUs of these kinds, they are
/// not left out.
Plan planned(const PlanRequest& request, const Report& report);

/// A GPU, described by the facts that placement needs.
struct Slot {
    Bytes budget = {};
    /// Memory for the driver's context. The driver's context counts only if the slot gets at least
    /// one piece.
    Bytes overhead = {};
    /// share of the layers, relative to the weights of the other slots; if all weights are 0, all
    /// slots get equal shares
    float weight = 0;
    /// The size of the largest buffer that the driver supports; nullopt if no limit is known.
    std::optional<Bytes> buffer_limit = {};
};

/// The load that is placed: a model with its settings, or a number of bytes
/// that may be split anywhere.
struct Load {
    const Model* model = nullptr;
    RunShape run = {};
    std::uint64_t pipeline_copies = 1;
    bool is_reordered = false;  ///< BackendTraits::reorders
    Bytes bytes = {};           ///< number of bytes, if there is no model

    /// Number of pieces, which are the layers and the output.
    [[nodiscard]] std::uint64_t pieces() const;
};

/// The memory and pieces that a placement puts into each slot.
struct Placement {
    std::vector<Bytes> used = {};
    std::vector<std::uint64_t> pieces = {};
    /// The largest tensor in each slot that has a maximum buffer size; 0 in the other slots.
    std::vector<Bytes> largest = {};
    bool is_complete = false;
};

/// Places the last `offloaded` pieces in the same way as llama.cpp splits layers. The slots get
/// consecutive layers in proportion to their weights, and the output comes after the last layer.
/// Source: llama_model_base::load_tensors in src/llama-model.cpp of llama.cpp v0.5.0.
Placement split_layers(const Load& load, const std::vector<Slot>& slots, std::uint64_t offloaded);

/// Places as many pieces as the slots can hold. If `spare` is true, each size is increased by a
/// tenth. If there is no model, the bytes fill one slot after another.
Placement place(const Load& load, const std::vector<Slot>& slots, bool spare);

/// Returns the slots with the weights that make the most layers fit. The weights are the given
/// weights or, if more layers fit, weights in proportion to the memory that each slot has left
/// after its compute buffer. Users can pass weights of the latter kind with --tensor-split.
std::vector<Slot> best_split(const Load& load, const std::vector<Slot>& slots);

/// The largest tensor of the complete load; 0 if the slot has no maximum buffer size.
Bytes largest_of(const Load& load, const Slot& slot);

/// The memory that the complete load needs in one slot.
Bytes whole_of(const Load& load, const Slot& slot);

/// Whether the complete load fits into the slots.
Fit fit_of(const Load& load, const std::vector<Slot>& slots);

/// The largest context, in steps of 256 tokens, for which everything fits, even if each size is a
/// tenth larger than estimated. If the context for which the model was trained is known, the result
/// is at most that context. nullopt if not even a context of 256 tokens fits.
std::optional<std::uint64_t> max_context_of(Load load, const std::vector<Slot>& slots);

/// The keys of a plan request, in the order of the help text (docs/plan.md, "The request").
std::span<const RequestKey> plan_keys();

/// Reads a request, except for its model, from named values. `gpus` contains the selectors in the
/// form in which they were given.
///
/// Errors: InvalidRequest, with a message that names the key at fault. The function also refuses
/// keys about a model together with need-mib, and quantized values in the cache together with flash
/// attention off, because llama.cpp refuses the latter.
Result<PlanRequest> plan_request_from(const Value& object);

}  // namespace gpuprobe::inline plan
