// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/fleet_need.h"
#include "export/subject.h"

namespace gpuprobe::inline exports {

/// A question to an engine: which machines, or which GPU?
struct FleetQuery {
    std::string text = {};  ///< with a final newline
    /// What is needed and not asked: machines are found on which the variant may not run.
    std::vector<ExportRemark> weaker = {};
    /// What is asked beyond the need: machines are not found on which it would run.
    std::vector<ExportRemark> stronger = {};
};

struct SelectorEngine {
    std::string_view name = {};
    std::string_view summary = {};
    Result<FleetQuery> (*ask)(const FleetNeed& need,
                              const Rules& rules,
                              const std::vector<std::string>& known) = nullptr;
    /// By what machines said of the variant; null where no export says it.
    std::string (*ask_verdict)(std::string_view product, std::string_view variant) = nullptr;
};

/// In the order of the help.
std::span<const SelectorEngine> selector_engines();
/// Null for an unknown name.
const SelectorEngine* selector_engine(std::string_view name);

// `known`: the words that the fleet has, of an engine that refuses others; empty: nobody knows.
// Errors of all: NoMatch where the engine has no word for the GPUs at all.
Result<FleetQuery> nfd_query(const FleetNeed& need,
                             const Rules& rules,
                             const std::vector<std::string>& known);
Result<FleetQuery> slurm_query(const FleetNeed& need,
                               const Rules& rules,
                               const std::vector<std::string>& known);
Result<FleetQuery> promql_query(const FleetNeed& need,
                                const Rules& rules,
                                const std::vector<std::string>& known);
Result<FleetQuery> dra_query(const FleetNeed& need,
                             const Rules& rules,
                             const std::vector<std::string>& known);
Result<FleetQuery> condor_query(const FleetNeed& need,
                                const Rules& rules,
                                const std::vector<std::string>& known);

/// A query that already lacks what no export tells.
FleetQuery query_for(const FleetNeed& need);
ExportRemark not_asked(std::string_view what);
ExportRemark asked_more(std::string_view what);
/// Each remark once.
void unite(std::vector<ExportRemark>& remarks);

/// A regular expression (RE2) for versions that are not older: "(2\.(3[6-9]|[4-9][0-9]).*)".
/// Exported for its tests.
std::string at_least_pattern(const Version& floor);

}  // namespace gpuprobe::inline exports
