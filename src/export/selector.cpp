// SPDX-License-Identifier: Apache-2.0
#include "export/selector.h"

#include <algorithm>

#include "export/formats.h"
#include "export/verdicts.h"

namespace gpuprobe::inline exports {
namespace {

std::string nfd_verdict(std::string_view product, std::string_view variant) {
    return "gpuprobe.feature.node.kubernetes.io/variant." + std::string{product} + "." +
           std::string{variant} + "=true\n";
}

std::string slurm_verdict(std::string_view product, std::string_view variant) {
    return "--constraint='" + slurm_verdict_word(product, variant) + "'\n";
}

std::string promql_verdict(std::string_view product, std::string_view variant) {
    return "gpuprobe_variant_supported{product=\"" + std::string{product} + "\",variant=\"" +
           std::string{variant} + "\"} == 1\n";
}

const SelectorEngine kEngines[] = {
    {.name = "nfd",
     .summary = "nodeSelectorTerms of a pod's nodeAffinity, over the labels of export nfd",
     .ask = nfd_query,
     .ask_verdict = nfd_verdict},
    {.name = "slurm",
     .summary = "options of srun and sbatch, over the features of export slurm-node",
     .ask = slurm_query,
     .ask_verdict = slurm_verdict},
    {.name = "promql",
     .summary = "one line per machine, over the metrics of export prometheus",
     .ask_verdict = promql_verdict},
};

}  // namespace

std::span<const SelectorEngine> selector_engines() {
    return kEngines;
}

const SelectorEngine* selector_engine(std::string_view name) {
    const auto* found = std::ranges::find(kEngines, name, &SelectorEngine::name);
    return found == std::end(kEngines) ? nullptr : found;
}

ExportRemark not_asked(std::string_view what) {
    return {.code = "weaker", .text = std::string{what}};
}

ExportRemark asked_more(std::string_view what) {
    return {.code = "stronger", .text = std::string{what}};
}

void unite(std::vector<ExportRemark>& remarks) {
    std::vector<ExportRemark> once;
    for (const auto& remark : remarks)
        if (std::ranges::find(once, remark) == once.end())
            once.push_back(remark);
    remarks = std::move(once);
}

FleetQuery query_for(const FleetNeed& need) {
    FleetQuery query;
    for (const auto& what : need.beyond)
        query.weaker.push_back(not_asked(what));
    return query;
}

}  // namespace gpuprobe::inline exports
