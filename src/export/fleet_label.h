// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"

namespace gpuprobe::inline exports {

/// A label of a machine. Labels are few, change rarely and have closed vocabularies. If a machine
/// may have several of a kind, the kind is in the name and the value is a count.
struct FleetLabel {
    std::string name = {};  ///< "gpu.arch.sm_90"
    std::string value = {};
    bool operator==(const FleetLabel&) const = default;
};

/// Labels for hardware, drivers and working APIs:
///
///     gpu.count, gpu.discrete.count, gpu.integrated.count, gpu.virtual.count
///     gpu.vendor.<vendor>, gpu.arch.<arch>        number of GPUs
///     gpu.partition.<kind>                             number of partitions of that kind
///     gpu.discrete.memory.min-gib                 the smallest of the discrete GPUs
///     api.<api>                                   "13.0", the lowest version, or "true"
///     api.<api>.<target>                          number of GPUs of that target on which it works
///     memory.<target>.min-gib                     the smallest memory of these GPUs
///     api.cuda.major, driver.nvidia.major         for comparisons of integers
///     host.libc, host.glibc.minor, host.cpu.level of the host, for comparisons as well
///
/// The version of Vulkan is the one that programs can use: at most the loader's.
std::vector<FleetLabel> fact_labels(const ExportSubject& subject,
                                    const std::vector<ExportedGpu>& gpus);

/// The labels variant.<application>.<variant> = "true" for variants that can run, and
/// best.<application>.
std::vector<FleetLabel> verdict_labels(const std::vector<Verdicts>& verdicts);

/// True if Kubernetes accepts the text as a label's value, or as the part of a key after the slash.
/// Source: Kubernetes, "Labels and Selectors", Syntax and character set.
bool is_label_value(std::string_view text);

/// The facts and as many verdicts as fit into `limit` labels; verdicts that don't fit are reported
/// in `left_out`. Empty if the facts themselves don't fit.
std::vector<FleetLabel> within_budget(std::vector<FleetLabel> facts,
                                      const std::vector<FleetLabel>& verdicts,
                                      std::size_t limit,
                                      std::vector<ExportRemark>& left_out);
/// More labels would be a burden for all watchers of nodes.
constexpr std::size_t kMaxFleetLabels = 24;

}  // namespace gpuprobe::inline exports
