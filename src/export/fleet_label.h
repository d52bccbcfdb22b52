// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"

namespace gpuprobe::inline exports {

/// A label of a machine. A machine has few labels, labels rarely change, and names and values
/// consist of words from fixed sets. If a machine may have several devices of the same kind, the
/// label's name contains the kind, and its value is the number of devices.
struct FleetLabel {
    std::string name = {};  ///< the name, such as "gpu.arch.sm_90"
    std::string value = {};
    bool operator==(const FleetLabel&) const = default;
};

/// Labels for hardware, drivers and working APIs:
///
///     gpu.count                         the number of all GPUs
///     gpu.discrete.count, gpu.integrated.count, gpu.virtual.count,
///     gpu.vendor.<vendor>, gpu.arch.<arch>
///                                       the number of GPUs of this kind, vendor or architecture
///     gpu.partition.<kind>              the number of partitions of this kind
///     gpu.discrete.memory.min-gib       the memory of the discrete GPU with the least memory
///     api.<api>                         the lowest version, such as "13.0"; otherwise "true"
///     api.<api>.<target>                the number of GPUs with this target on which the API works
///     memory.<target>.min-gib           the least memory of all GPUs with this target
///     api.cuda.major                    the major number of the CUDA version
///     driver.nvidia.major               the branch of NVIDIA's driver
///     host.libc, host.glibc.minor, host.cpu.level
///                                       the C library and the CPU of the host
///
/// machine_labels() adds the labels about videos.
///
/// Each number is a separate label, because orchestrators can compare only integers. The Vulkan
/// version is the version that programs can use, which is at most the loader's version.
std::vector<FleetLabel> fact_labels(const ExportSubject& subject,
                                    const std::vector<ExportedGpu>& gpus);

/// True if Kubernetes accepts the text as a label's value, or as the part of a key after the slash.
/// Source: Kubernetes, "Labels and Selectors", Syntax and character set.
bool is_label_value(std::string_view text);

/// The labels of a machine, at most `limit`: all labels about facts, followed by as many labels
/// about verdicts as possible. The number of verdicts that were left out is stored in `left_out`.
/// The result is empty if there are more than `limit` labels about facts.
std::vector<FleetLabel> within_budget(std::vector<FleetLabel> facts,
                                      const std::vector<FleetLabel>& verdicts,
                                      std::size_t limit,
                                      std::vector<ExportRemark>& left_out);
/// The maximum number of labels of a node, because Kubernetes sends all labels to each client that
/// watches the node.
constexpr std::size_t kMaxFleetLabels = 24;

/// All labels of a machine: at most kMaxFleetLabels labels, and at most eight labels about videos.
/// The result is empty if there are too many labels about facts.
std::vector<FleetLabel> machine_labels(const ExportSubject& subject,
                                       const std::vector<ExportedGpu>& gpus,
                                       std::vector<ExportRemark>& left_out);

}  // namespace gpuprobe::inline exports
