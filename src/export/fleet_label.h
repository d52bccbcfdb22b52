// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/exported_gpu.h"
#include "export/verdicts.h"

namespace gpuprobe::inline exports {

/// One label of a machine: few, slow to change, from closed vocabularies. Where a machine may have
/// several of a kind, the kind is in the name and the value counts.
struct FleetLabel {
    std::string name = {};  ///< "gpu.arch.sm_90"
    std::string value = {};
    bool operator==(const FleetLabel&) const = default;
};

/// Hardware, drivers and APIs that work:
///
///     gpu.count, gpu.discrete.count, gpu.integrated.count, gpu.virtual.count
///     gpu.vendor.<vendor>, gpu.arch.<arch>        how many GPUs
///     gpu.discrete.memory.min-gib                 the least of the discrete GPUs
///     api.<api>                                   "13.0", the least there is, or "true"
///     api.<api>.<target>                          on how many GPUs of that target it works
///     memory.<target>.min-gib                     the least of those
///     api.cuda.major, driver.nvidia.major         for comparisons of integers
///     host.libc, host.glibc.minor, host.cpu.level of the host, likewise
///
/// The version of Vulkan is what programs can use: no more than the loader's.
std::vector<FleetLabel> fact_labels(const ExportSubject& subject,
                                    const std::vector<ExportedGpu>& gpus);

/// variant.<product>.<variant> = "true" for what can run, best.<product>.
std::vector<FleetLabel> verdict_labels(const std::vector<Verdicts>& verdicts);

/// What Kubernetes takes as the value of a label, and the part of a key behind the slash.
/// Source: Kubernetes, "Labels and Selectors", Syntax and character set.
bool is_label_value(std::string_view text);

/// Facts and then as many verdicts as fit in `limit` labels; what does not, is named in `left_out`.
/// Empty when the facts alone do not.
std::vector<FleetLabel> within_budget(std::vector<FleetLabel> facts,
                                      const std::vector<FleetLabel>& verdicts,
                                      std::size_t limit,
                                      std::vector<ExportRemark>& left_out);
/// More is a burden on every node's watchers.
constexpr std::size_t kMaxFleetLabels = 24;

}  // namespace gpuprobe::inline exports
