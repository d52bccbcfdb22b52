// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "plan/backend_traits.h"
#include "plan/model.h"
#include "plan/need.h"
#include "report/report.h"

/// Does a model fit, and how much of it, on one GPU and on several. Pure: a function of its
/// arguments.
namespace gpuprobe::inline plan {

/// Which reading a budget rests on.
enum class BudgetSource { Free, Allocatable, Physical };
constexpr std::array<EnumName<BudgetSource>, 3> names_of(BudgetSource) {
    return {{{BudgetSource::Free, "free"},
             {BudgetSource::Allocatable, "allocatable"},
             {BudgetSource::Physical, "physical"}}};
}

/// What a program may take of one GPU.
struct Budget {
    std::optional<Bytes> available = {};      ///< before the margin; null when nothing is known
    std::optional<BudgetSource> source = {};  ///< of `available`
    std::optional<Bytes> bytes = {};          ///< with the margin taken off
    bool is_shared_with_host = false;         ///< bounded by the host's free memory
    bool operator==(const Budget&) const = default;
};
RECORD_MEMBERS(Budget, available, source, bytes, is_shared_with_host)

/// llama.cpp leaves this much free per device when it fits a model itself (common/fit.cpp).
constexpr Bytes kDefaultMargin = mib(1024);

/// Free memory less the margin; what can be allocated, or what is on the board, where nobody tells
/// what is free. Unified memory is the host's: never more than that has available. An AMD carve-out
/// is the GPU's own, and the report bounds the rest of it already.
Budget budget_of(const GpuMemory& memory, const HostMemory& host, Bytes margin);

enum class Fit {
    Fits,   ///< with a tenth to spare
    Tight,  ///< by the estimate, and the estimate may be wrong by more than what is left
    No,
    Unknown,  ///< the GPU's memory is not known
};
constexpr std::array<EnumName<Fit>, 4> names_of(Fit) {
    return {
        {{Fit::Fits, "fits"}, {Fit::Tight, "tight"}, {Fit::No, "no"}, {Fit::Unknown, "unknown"}}};
}

/// A model, or so many bytes of whatever.
struct PlanRequest {
    std::optional<Model> model = {};
    std::optional<Bytes> need = {};  ///< when there is no model
    RunShape run = {};
    std::optional<std::uint64_t> micro_batch = {};          ///< bounds run.batch
    FlashAttention flash_attention = FlashAttention::Auto;  ///< decides run.flash_attention
    std::vector<float> tensor_split = {};        ///< parts of several GPUs; empty: by free memory
    std::optional<Bytes> context_overhead = {};  ///< of the driver; null: context_memory()
    Bytes margin = kDefaultMargin;
    std::vector<std::string> gpus = {};  ///< ids; none: all that compute
    /// Whoever asks leaves of these the GPUs that select() accepts for it, and says through which
    /// backends (calls/plan_call.h).
    std::optional<std::string> consumer = {};
    /// Our names, best first, by a GPU's id. A GPU without an entry is used through whatever works.
    std::map<std::string, std::vector<std::string>> backends = {};
};

/// Counted as llama.cpp's --n-gpu-layers does: from the last one, the output being one of them.
struct LayerCount {
    std::uint64_t offloaded = 0;
    std::uint64_t total = 0;
    bool operator==(const LayerCount&) const = default;
};
RECORD_MEMBERS(LayerCount, offloaded, total)

/// One GPU alone.
struct GpuPlan {
    std::string gpu = {};  ///< id
    std::optional<std::string> name = {};
    Fit fit = Fit::Unknown;
    Budget budget = {};
    std::optional<Bytes> physical = {};  ///< memory on the board
    Bytes need = {};                     ///< all of it on this GPU
    Bytes overhead = {};                 ///< the driver's part of `need`
    bool flash_attention = false;
    std::optional<LayerCount> layers = {};          ///< null without a model or a budget
    std::optional<std::uint64_t> max_context = {};  ///< at which all of it `fits`; null: at none
    std::vector<Reason> reasons = {};               ///< why `fit` is not better, or less than sure
    bool operator==(const GpuPlan&) const = default;
};
RECORD_MEMBERS(GpuPlan, gpu, name, fit, budget, physical, need, overhead, flash_attention, layers,
               max_context, reasons)

/// The part of one GPU in a split.
struct Share {
    std::string gpu = {};
    Bytes need = {};  ///< with what each GPU pays
    std::uint64_t layers = 0;
    bool operator==(const Share&) const = default;
};
RECORD_MEMBERS(Share, gpu, need, layers)

/// Several GPUs together, through one backend.
struct SetPlan {
    std::string backend = {};
    std::vector<std::string> gpus = {};  ///< in the order in which the runtime lists them
    Fit fit = Fit::Unknown;
    bool flash_attention = false;
    std::optional<LayerCount> layers = {};
    std::optional<std::uint64_t> max_context = {};
    std::vector<Share> shares = {};
    bool operator==(const SetPlan&) const = default;
};
RECORD_MEMBERS(SetPlan, backend, gpus, fit, flash_attention, layers, max_context, shares)

/// All of it in the host's memory, computed by the CPU.
struct HostPlan {
    Fit fit = Fit::Unknown;
    std::optional<Bytes> available = {};
    Bytes need = {};
    bool operator==(const HostPlan&) const = default;
};
RECORD_MEMBERS(HostPlan, fit, available, need)

struct Plan {
    std::optional<Need> need = {};       ///< the parts; null without a model
    bool has_flash_attention = false;    ///< in `need`
    std::vector<GpuPlan> gpus = {};      ///< in the report's order
    std::vector<SetPlan> together = {};  ///< one per backend that at least two GPUs share
    HostPlan host = {};
    std::vector<Reason> notes = {};
    bool operator==(const Plan&) const = default;

    /// Some GPU or set holds it, tightly perhaps.
    [[nodiscard]] bool is_possible() const;
};
RECORD_MEMBERS(Plan, need, ("flash_attention", has_flash_attention), gpus, together, host, notes)

/// GPUs that only display are left out, and integrated ones out of sets when a discrete one is in;
/// both take part when the request names them.
Plan planned(const PlanRequest& request, const Report& report);

}  // namespace gpuprobe::inline plan
