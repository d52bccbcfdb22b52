// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/fleet_need.h"
#include "export/subject.h"

namespace gpuprobe::inline exports {

/// A query for an orchestrator that finds machines, or GPUs.
struct FleetQuery {
    std::string text = {};  ///< with a final newline
    /// Requirements that the query does not check: it also finds machines on which the variant
    /// can't run.
    std::vector<ExportRemark> weaker = {};
    /// Conditions beyond the requirements: the query misses machines on which the variant would
    /// run.
    std::vector<ExportRemark> stronger = {};
};

/// An orchestrator for which queries can be written.
struct SelectorEngine {
    std::string_view name = {};
    std::string_view summary = {};
    /// A query by the requirements of the variant; null if the orchestrator is asked only by
    /// verdict.
    Result<FleetQuery> (*ask)(const FleetNeed& need,
                              const Rules& rules,
                              const std::vector<std::string>& known) = nullptr;
    /// A query by the verdict that each machine exported for the variant.
    std::string (*ask_verdict)(std::string_view product, std::string_view variant) = nullptr;
};

/// All orchestrators, in the order of the help.
std::span<const SelectorEngine> selector_engines();
/// The orchestrator with that name; null if it is unknown.
const SelectorEngine* selector_engine(std::string_view name);

// `known`: the words that the fleet has, for an orchestrator that rejects other words; empty:
// unknown. Errors of all functions: NoMatch if the orchestrator has no word for the GPUs.
Result<FleetQuery> nfd_query(const FleetNeed& need,
                             const Rules& rules,
                             const std::vector<std::string>& known);
Result<FleetQuery> slurm_query(const FleetNeed& need,
                               const Rules& rules,
                               const std::vector<std::string>& known);

/// An empty query with remarks about the requirements that no export contains.
FleetQuery query_for(const FleetNeed& need);
/// A remark for FleetQuery::weaker.
ExportRemark not_asked(std::string_view what);
/// A remark for FleetQuery::stronger.
ExportRemark asked_more(std::string_view what);
/// Removes duplicates.
void unite(std::vector<ExportRemark>& remarks);

}  // namespace gpuprobe::inline exports
