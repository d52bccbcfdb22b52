// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.h"

#include <algorithm>

#include "doctor/checks.h"

namespace gpuprobe {

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
                                    .severity = check.severity,
                                    .gpu = gpu.id,
                                    .evidence = std::move(evidence)});
    return findings;
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

std::vector<std::string_view> check_ids() {
    std::vector<std::string_view> ids;
    for (const auto& check : machine_checks())
        ids.push_back(check.id);
    for (const auto& check : gpu_checks())
        ids.push_back(check.id);
    return ids;
}

}  // namespace gpuprobe
