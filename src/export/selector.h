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

/// The requirements of a variant for one GPU, expressed in the words that exports use.
struct GpuNeed {
    /// The fleet_word (report/api_table.h) of an API that must work.
    std::optional<std::string> api = {};
    std::optional<std::set<std::string>> targets = {};  ///< the GPU must have one of these targets
    std::vector<std::string> vendors = {};  ///< the accepted vendors; if empty, any vendor
    /// The accepted kinds of GPUs; any kind if nullopt.
    std::optional<std::set<GpuKind>> kinds = {};
    std::optional<Version> driver = {};  ///< minimum version of NVIDIA's driver
    std::optional<Version> vulkan = {};  ///< minimum version of Vulkan
    std::optional<Bytes> memory = {};    ///< minimum size of the GPU's memory
    bool operator==(const GpuNeed&) const = default;
};

/// The requirements of a variant for the host. All versions and the CPU level are minimums.
struct HostNeed {
    std::string arch = {};  ///< the architecture that `uname -m` prints
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<Version> kernel = {};
    std::optional<int> cpu_level = {};
    std::vector<std::string> cpu_features = {};
    bool operator==(const HostNeed&) const = default;
};

/// The requirements of a variant that concern facts in exports.
struct FleetNeed {
    HostNeed host = {};
    /// Alternatives, each of which describes one GPU; empty if no GPU is needed.
    std::vector<GpuNeed> gpus = {};
    /// Names and values of predicates about facts that no export contains. Queries cannot check
    /// such predicates, so queries also find machines on which the variant cannot run.
    std::vector<std::string> beyond = {};
};

/// Translates the requirements of a variant. Errors: NoMatch for a variant that cannot run on any
/// machine, because it has an unknown requirement or kernels only for unknown GPUs.
Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules);

/// A query for an orchestrator that finds machines, or GPUs.
struct FleetQuery {
    std::string text = {};  ///< the text of the query, with a final newline
    /// Requirements that the query does not check. Because these requirements aren't checked, the
    /// query also finds machines on which the variant cannot run.
    std::vector<ExportRemark> weaker = {};
    /// Descriptions of machines that the query does not find, although the variant would run on
    /// these machines.
    std::vector<ExportRemark> stronger = {};
};

/// An orchestrator for which queries can be written.
struct Orchestrator {
    std::string_view name = {};
    std::string_view summary = {};
    /// Writes a query that checks the requirements of the variant; null if the orchestrator can be
    /// queried only for verdicts.
    Result<FleetQuery> (*ask)(const FleetNeed& need,
                              const Rules& rules,
                              const std::vector<std::string>& known) = nullptr;
    /// Writes a query that checks the verdict that each machine exported for the variant.
    std::string (*ask_verdict)(std::string_view application, std::string_view variant) = nullptr;
};

/// All orchestrators, in the order in which the help lists them.
std::span<const Orchestrator> orchestrators();
/// The orchestrator with the name `name`; null if there is no such orchestrator.
const Orchestrator* orchestrator(std::string_view name);

// `known` contains the words that exist in the fleet, because some orchestrators reject queries
// with other words; `known` is empty if these words are unknown. Errors of all functions: NoMatch
// if the orchestrator has no name for the GPUs.
Result<FleetQuery> nfd_query(const FleetNeed& need,
                             const Rules& rules,
                             const std::vector<std::string>& known);
Result<FleetQuery> slurm_query(const FleetNeed& need,
                               const Rules& rules,
                               const std::vector<std::string>& known);

/// Makes an empty query with remarks about the requirements that no export contains.
FleetQuery query_for(const FleetNeed& need);
/// Makes a remark for FleetQuery::weaker about a requirement that the query does not check.
ExportRemark not_asked(std::string_view what);
/// Makes a remark for FleetQuery::stronger about machines that the query does not find.
ExportRemark asked_more(std::string_view what);
/// Removes duplicate remarks.
void unite(std::vector<ExportRemark>& remarks);

}  // namespace gpuprobe::inline exports
