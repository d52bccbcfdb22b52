// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/formats.h"
#include "policy/manifest.h"
#include "policy/rules.h"
#include "report/report.h"

namespace gpuprobe::inline exports {

/// The requirements of a variant for one GPU, in the words of exports.
struct GpuNeed {
    std::optional<std::string> api = {};  ///< an API that works: a fleet_word of report/api_table.h
    std::optional<std::set<std::string>> targets = {};  ///< one of these targets of ExportedGpu
    std::vector<std::string> vendors = {};              ///< one of these; empty: any
    std::optional<std::set<GpuKind>> kinds = {};        ///< one of these; nullopt: any
    std::optional<Version> driver = {};                 ///< minimum version of NVIDIA's driver
    std::optional<Version> vulkan = {};                 ///< minimum version
    std::optional<Bytes> memory = {};                   ///< minimum size
    bool operator==(const GpuNeed&) const = default;
};

/// The requirements of a variant for the host. Versions and the CPU level are minimums.
struct HostNeed {
    std::string arch = {};  ///< as in uname -m
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<Version> kernel = {};
    std::optional<int> cpu_level = {};
    std::vector<std::string> cpu_features = {};
    bool operator==(const HostNeed&) const = default;
};

/// The requirements of a variant, as far as exports contain the facts.
struct FleetNeed {
    HostNeed host = {};
    std::vector<GpuNeed> gpus = {};  ///< alternatives, each for a single GPU; empty: no GPU
    /// Names and values of predicates about facts that no export contains. Queries cannot check
    /// these predicates, and therefore also find machines on which the variant cannot run.
    std::vector<std::string> beyond = {};
};

/// Translates the requirements of a variant. Errors: NoMatch for a variant that can't run on any
/// machine: it needs something unknown, or has kernels only for unknown GPUs.
Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules);

/// A query for an orchestrator that finds machines, or GPUs.
struct FleetQuery {
    std::string text = {};  ///< with a final newline
    /// Requirements that the query does not check, so that the query also finds machines on which
    /// the variant cannot run.
    std::vector<ExportRemark> weaker = {};
    /// Machines that the query does not find, although the variant would run on them.
    std::vector<ExportRemark> stronger = {};
};

/// An orchestrator for which queries can be written.
struct Orchestrator {
    std::string_view name = {};
    std::string_view summary = {};
    /// A query by the requirements of the variant; null if the orchestrator is queried only by
    /// verdict.
    Result<FleetQuery> (*ask)(const FleetNeed& need,
                              const Rules& rules,
                              const std::vector<std::string>& known) = nullptr;
    /// A query by the verdict that each machine exported for the variant.
    std::string (*ask_verdict)(std::string_view application, std::string_view variant) = nullptr;
};

/// All orchestrators, in the order of the help.
std::span<const Orchestrator> orchestrators();
/// The orchestrator with that name; null if it is unknown.
const Orchestrator* orchestrator(std::string_view name);

// `known`: the words that exist in the fleet, for orchestrators that reject queries with other
// words; empty if these words are unknown. Errors of all functions: NoMatch if the orchestrator has
// no word for the GPUs.
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
