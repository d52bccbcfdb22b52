// SPDX-License-Identifier: Apache-2.0
#include "report/health.h"

#include <algorithm>
#include <array>

#include "report/api_view.h"

namespace gpuprobe {
namespace {

constexpr std::array kByGravity = std::to_array<std::string_view>(
    {"lost", "wedged", "driver-mismatch", "no-driver", "passthrough", "driver-crashed",
     "driver-timed-out", "device-denied", "no-permission", "uvm-missing", "driver-failed"});
constexpr std::array kDriverCodes =
    std::to_array<std::string_view>({"driver-crashed", "driver-timed-out", "driver-failed"});

}  // namespace

std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis) {
    std::vector<Reason> findings;
    for (const auto& [api, view] : apis)
        for (const auto code : kDriverCodes)
            if (has_reason(view.reasons, code))
                findings.push_back(
                    because(std::string{code}, {{"api", api}, {"driver", to_value(view.driver)}}));
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
    const auto concerns = [&gpu](const Value& node) {
        const auto* path = node.as_string();
        const bool is_own =
            path && std::ranges::find(gpu.nodes, *path, &DeviceNode::path) != gpu.nodes.end();
        return is_own || node == Value{"/dev/nvidiactl"} || node == Value{"/dev/kfd"};
    };
    for (const auto& [api, view] : gpu.apis)
        for (const auto& reason : view.reasons) {
            const auto& node = reason.detail.at("node");
            if (reason.code != "device-denied" || !concerns(node))
                continue;
            auto finding = because("device-denied", {{"node", node}});
            if (std::ranges::find(findings, finding) == findings.end())
                findings.push_back(std::move(finding));
        }
    return findings;
}

std::string health_of(const std::vector<Reason>& findings) {
    for (const auto code : kByGravity)
        if (has_reason(findings, code))
            return std::string{code};
    return "ok";
}

bool is_for_joining(std::string_view group) {
    constexpr std::array kNobodys =
        std::to_array<std::string_view>({"root", "wheel", "disk", "nogroup", "nobody"});
    return group.find_first_not_of("0123456789") != std::string_view::npos &&
           std::ranges::find(kNobodys, group) == kNobodys.end();
}

}  // namespace gpuprobe
