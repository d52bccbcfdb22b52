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

/// The requirements of a variant for one GPU, expressed with the words that exports use.
struct GpuNeed {
    /// The fleet_word (report/api_table.h) of an API that must work.
    std::optional<std::string> api = {};
    std::optional<std::set<std::string>> targets = {};  ///< the GPU must have one of these targets
    std::vector<std::string> vendors = {};        ///< the accepted vendors; any vendor if empty
    std::optional<std::set<GpuKind>> kinds = {};  ///< the accepted kinds; any kind if nullopt
    std::optional<Version> driver = {};           ///< minimum version of NVIDIA's driver
    std::optional<Version> vulkan = {};           ///< minimum version of Vulkan
    std::optional<Bytes> memory = {};             ///< minimum size of the GPU's memory
    bool operator==(const GpuNeed&) const = default;
};

/// What a variant requires of the host. Versions and the CPU level are minimums.
struct HostNeed {
    std::string arch = {};  ///< the architecture that `uname -m` prints
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<Version> kernel = {};
    std::optional<int> cpu_level = {};
    std::vector<std::string> cpu_features = {};
    bool operator==(const HostNeed&) const = default;
};

/// The requirements of a variant, as far as they concern facts that exports contain.
struct FleetNeed {
    HostNeed host = {};
    std::vector<GpuNeed> gpus = {};  ///< alternatives, each for one GPU; empty if no GPU is needed
    /// Names and values of predicates about facts that no export contains. Queries cannot check
    /// these predicates, so they also find machines on which the variant cannot run.
    std::vector<std::string> beyond = {};
};

/// Translates the requirements of a variant. Errors: NoMatch for a variant that cannot run on any
/// machine: it has an unknown requirement, or has kernels only for unknown GPUs.
Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules);

/// A query for an orchestrator that finds machines, or GPUs.
struct FleetQuery {
    std::string text = {};  ///< the text of the query, with a final newline
    /// Requirements that the query does not check. Because of these requirements, the query also
    /// finds machines on which the variant cannot run.
    std::vector<ExportRemark> weaker = {};
    /// Descriptions of machines that the query does not find although the variant would run on
    /// them.
    std::vector<ExportRemark> stronger = {};
};

/// An orchestrator for which queries can be written.
struct Orchestrator {
    std::string_view name = {};
    std::string_view summary = {};
    /// Writes a query that checks the requirements of the variant; null if the orchestrator is
    /// queried only by verdict.
    Result<FleetQuery> (*ask)(const FleetNeed& need,
                              const Rules& rules,
                              const std::vector<std::string>& known) = nullptr;
    /// Writes a query that checks the verdict that each machine exported for the variant.
    std::string (*ask_verdict)(std::string_view application, std::string_view variant) = nullptr;
};

/// All orchestrators, in the order of the help.
std::span<const Orchestrator> orchestrators();
/// The orchestrator `name`; null if it is unknown.
const Orchestrator* orchestrator(std::string_view name);

// `known` contains the words that exist in the fleet, because some orchestrators reject queries
// with other words; it is empty if these words are unknown. Errors of all functions: NoMatch if the
// orchestrator has no word for the GPUs.
Result<FleetQuery> nfd_query(const FleetNeed& need,
                             const Rules& rules,
                             const std::vector<std::string>& known);
Result<FleetQuery> slurm_query(const FleetNeed& need,
                               const Rules& rules,
                               const std::vector<std::string>& known);

/// An empty query with remarks about the requirements that no export contains.
FleetQuery query_for(const FleetNeed& need);
/// A remark for FleetQuery::weaker about a requirement that the query does not check.
ExportRemark not_asked(std::string_view what);
/// A remark for FleetQuery::stronger about machines that the query does not find.
ExportRemark asked_more(std::string_view what);
/// Removes duplicate remarks.
void unite(std::vector<ExportRemark>& remarks);

}  // namespace gpuprobe::inline exports
