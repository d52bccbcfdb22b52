// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm.h"

#include "backends/drm/drm_facts.h"

namespace gpuprobe::backends {
namespace {

DeviceFacts facts_from_sysfs(const RenderNode& node, std::uint32_t index) {
    DeviceFacts facts{.index = index,
                      .vendor_id = node.vendor_id,
                      .device_id = node.device_id,
                      .pci = node.pci,
                      .drm = node.drm};
    facts.extra["node"] = node.path;
    return facts;
}

Reason not_opened(const RenderNode& node, const Error& problem) {
    if (problem.code == ErrorCode::PermissionDenied)
        return because("no-permission", {{"node", node.path}, {"device", node.id}});
    if (problem.code == ErrorCode::NotAuthorized)
        return because("device-denied", {{"node", node.path}, {"device", node.id}});
    return because(
        "api-refused",
        {{"call", "open"}, {"node", node.path}, {"device", node.id}, {"error", problem.text}});
}

}  // namespace

Answer survey_drm(const FileSystem& files, const OpenDrmDevice& open, Sink& sink) {
    sink.phase("enumerate");
    const auto nodes = render_nodes(files);
    if (nodes.empty())
        return Answer{.outcome = Outcome::Absent,
                      .note = "/sys/class/drm: no render node",
                      .reasons = {because("no-device", {{"api", "drm"}})}};
    sink.phase("query");
    Answer answer{.outcome = Outcome::Failed};
    std::uint32_t index = 0;
    for (const auto& node : nodes) {
        auto facts = facts_from_sysfs(node, index++);
        if (is_asleep(files, node)) {
            answer.reasons.push_back(because("asleep", {{"device", node.id}}));
            continue;
        }
        const auto device = open(node);
        if (!device) {
            answer.reasons.push_back(not_opened(node, device.error()));
            continue;
        }
        add_drm_facts(**device, facts);
        sink.device(facts);
        answer.outcome = Outcome::Answered;
    }
    if (answer.outcome == Outcome::Failed)
        answer.note = "no render node could be opened";
    return answer;
}

Answer query_drm(const ProbeTarget&, Sink& sink) {
    const auto open = [](const RenderNode& node) {
        return open_drm_device(node.path, node.device_number);
    };
    return survey_drm(RootedFiles{}, open, sink);
}

}  // namespace gpuprobe::backends
