// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>

#include "base/parse.h"
#include "explain/checks.h"
#include "explain/doctor_table.h"

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

const Wording* find_wording(std::string_view code) {
    const auto* found = std::ranges::find(kDiagnoses, code, &Wording::code);
    return found == std::end(kDiagnoses) ? nullptr : found;
}

/// Those for a container, or for its case, where it has some.
const Wording* wording_of(const Finding& finding) {
    const auto* inside = find_wording(finding.id + "@container");
    if (inside && !finding.evidence.at("container").is_null())
        return inside;
    const auto* name = finding.evidence.at("case").as_string();
    const auto* own = name ? find_wording(finding.id + "@" + *name) : nullptr;
    return own ? own : find_wording(finding.id);
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

Explained explain(const Finding& finding) {
    const auto* found = wording_of(finding);
    if (!found)
        return {.text = scrubbed(finding.id)};
    Explained words{.text = filled(found->sentence, finding.evidence)};
    if (auto fix = filled(found->fix, finding.evidence); !fix.empty())
        words.fix = std::move(fix);
    return words;
}

Severity gravest(const std::vector<Finding>& findings) {
    auto worst = Severity::Ok;
    for (const auto& finding : findings)
        worst = std::max(worst, finding.severity);
    return worst;
}

}  // namespace gpuprobe
