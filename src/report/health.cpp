// SPDX-License-Identifier: Apache-2.0
#include "report/health.h"

#include <algorithm>

namespace gpuprobe::inline report {
namespace {

/// The kinds of driver failure in an API's view, each once, most severe first.
std::vector<const ReasonInfo*> faults_in(const ApiView& view) {
    std::vector<const ReasonInfo*> faults;
    for (const auto& row : reason_table())
        if (includes(row.traits, ReasonTraits::DriverFault) && has_reason(view.reasons, row))
            faults.push_back(&row);
    std::ranges::sort(faults, std::ranges::greater{}, &ReasonInfo::gravity);
    return faults;
}

/// Severity of a finding; 0 for an unknown code.
std::uint8_t gravity_of(const Reason& finding) {
    const auto* info = find_reason(finding.code);
    return info ? info->gravity : 0;
}

}  // namespace

std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis) {
    std::vector<Reason> findings;
    for (const auto& [api, view] : apis)
        for (const auto* fault : faults_in(view))
            findings.push_back(because(*fault, {{"api", api}, {"driver", to_value(view.driver)}}));
    return findings;
}

bool is_for_computing(const std::vector<DeviceNode>& nodes, std::string_view path) {
    const auto is_nvidias = [](const DeviceNode& node) {
        return node.path.starts_with("/dev/nvidia");
    };
    if (path.starts_with("/dev/dri/renderD"))
        return std::ranges::none_of(nodes, is_nvidias);
    return !path.starts_with("/dev/dri/card");
}

std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes, const Host& host) {
    std::vector<Reason> findings;
    for (const auto& node : nodes) {
        // Skip nodes that are accessible or were not checked.
        if (node.accessible != false || !is_for_computing(nodes, node.path))
            continue;
        if (node.reason == "missing")
            findings.push_back(because(
                "node-missing", {{"node", node.path}, {"container", to_value(host.container)}}));
        else
            findings.push_back(
                because("no-permission", {{"node", node.path}, {"group", to_value(node.group)}}));
    }
    return findings;
}

std::vector<Reason> denied_findings(const Gpu& gpu) {
    std::vector<Reason> findings;
    // Whether the node is the GPU's, or one that NVIDIA's or AMD's GPUs share.
    const auto concerns = [&gpu](const Value& node) {
        const auto* path = node.as_string();
        const bool is_own =
            path && std::ranges::find(gpu.nodes, *path, &DeviceNode::path) != gpu.nodes.end();
        return is_own || node == Value{"/dev/nvidiactl"} || node == Value{"/dev/kfd"};
    };
    for (const auto& [api, view] : gpu.apis)
        for (const auto& reason : view.reasons) {
            const auto& node = reason.detail.at("node");
            if (!reason.is("device-denied") || !concerns(node))
                continue;
            auto finding = because("device-denied", {{"node", node}});
            // Several APIs may be refused by the same node; report it once.
            if (std::ranges::find(findings, finding) == findings.end())
                findings.push_back(std::move(finding));
        }
    return findings;
}

std::string health_of(const std::vector<Reason>& findings) {
    const auto gravest = std::ranges::max_element(findings, {}, gravity_of);
    return gravest == findings.end() || gravity_of(*gravest) == 0 ? "ok" : gravest->code;
}

}  // namespace gpuprobe::inline report
