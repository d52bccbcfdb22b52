// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>

#include "explain/checks.h"

namespace gpuprobe {

namespace {

bool is_usable(const Gpu& gpu) {
    return std::ranges::any_of(gpu.backends,
                               [](const auto& entry) { return entry.second.usable == true; });
}

/// In a container that was given some of the machine's GPUs, the others are meant to be closed.
Severity tempered(const GpuCheck& check, const Report& report, const Gpu& gpu) {
    const bool is_of_others = has_trait(check.id, ReasonTraits::OfOtherGpus) && !is_usable(gpu);
    return report.host.container && is_of_others && std::ranges::any_of(report.gpus, is_usable)
               ? Severity::Info
               : check.severity;
}

/// Adds the container in which it was found, because the fixes differ from the host's.
Value placed(Value evidence, const Report& report) {
    if (report.host.container)
        evidence["container"] = *report.host.container;
    return evidence;
}

}  // namespace

std::vector<Finding> examine(const Report& report, const Surroundings& surroundings) {
    std::vector<Finding> findings;
    for (const auto& check : machine_checks())
        for (auto& evidence : check.look(report, surroundings))
            findings.push_back({.id = std::string{check.id},
                                .severity = check.severity,
                                .evidence = std::move(evidence)});
    for (const auto& gpu : report.gpus)
        for (const auto& check : gpu_checks())
            for (auto& evidence : check.look(report, gpu))
                findings.push_back({.id = std::string{check.id},
                                    .severity = tempered(check, report, gpu),
                                    .gpu = gpu.id,
                                    .evidence = placed(std::move(evidence), report)});
    return findings;
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

}  // namespace gpuprobe
