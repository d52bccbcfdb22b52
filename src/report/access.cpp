// SPDX-License-Identifier: Apache-2.0
#include "report/access.h"

#include <algorithm>

#include "report/api_table.h"
#include "report/fact_table.h"
#include "report/gpu_views.h"

namespace gpuprobe::inline report {
namespace {

/// The distinct kinds of driver failure in an API's view, most severe first.
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
    for (const auto& [api, view] : apis) {
        // A GPU whose video driver fails can still compute and draw.
        if (reports_video(api))
            continue;
        for (const auto* fault : faults_in(view))
            findings.push_back(because(*fault, {{"api", api}, {"driver", to_value(view.driver)}}));
    }
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
        // Skip nodes that are accessible or weren't checked.
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
    // Whether the node belongs to the GPU, or is shared by all GPUs from NVIDIA or AMD.
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
            // Several APIs may be denied access to the same node, so report the node only once.
            if (std::ranges::find(findings, finding) == findings.end())
                findings.push_back(std::move(finding));
        }
    return findings;
}

std::string health_of(const std::vector<Reason>& findings) {
    const auto gravest = std::ranges::max_element(findings, {}, gravity_of);
    return gravest == findings.end() || gravity_of(*gravest) == 0 ? "ok" : gravest->code;
}

namespace {

constexpr std::uint32_t kReadAndWrite = 6;

/// Whether the lowest three permission bits allow reading and writing.
bool grants(std::uint32_t mode) {
    return (mode & kReadAndWrite) == kReadAndWrite;
}

bool is_in(const Caller& caller, const std::optional<std::uint32_t>& group) {
    return group && std::ranges::find(*caller.groups, *group) != caller.groups->end();
}

/// The ACL mask, which limits all entries except the entries for the owner and for others.
std::uint32_t mask_of(const DeviceNode& node) {
    const auto mask = std::ranges::find(node.acl, "mask", &AclEntry::tag);
    return mask == node.acl.end() ? 7U : mask->mode;
}

/// Access through groups; nullopt if the caller isn't in any of the groups. As in the kernel, one
/// matching entry that grants access suffices.
std::optional<bool> group_verdict(const DeviceNode& node, const Caller& caller) {
    if (node.acl.empty())
        return is_in(caller, node.gid) ? std::optional{grants(*node.mode >> 3)} : std::nullopt;
    std::optional<bool> verdict;
    const auto mask = mask_of(node);
    for (const auto& entry : node.acl) {
        const bool matches = (entry.tag == "owning-group" && is_in(caller, node.gid)) ||
                             (entry.tag == "group" && is_in(caller, entry.id));
        if (matches)
            verdict = verdict.value_or(false) || grants(entry.mode & mask);
    }
    return verdict;
}

/// Whether a scan recorded owner, group and mode. Other nodes keep the recorded access.
bool is_known(const DeviceNode& node) {
    return node.mode && node.uid && node.gid && node.reason != "missing";
}

std::optional<bool> seen_access(const DeviceNode& node, const Caller& caller) {
    return is_known(node) ? may_open(node, caller) : node.accessible;
}

/// Replaces the prober's access to the node with the caller's access.
void look_at(DeviceNode& node, const Caller& caller) {
    if (!is_known(node))
        return;
    node.accessible = may_open(node, caller);
    node.reason =
        node.accessible == false ? std::optional<std::string>{"no-permission"} : std::nullopt;
}

/// Calls `use` with each node of the report, in an order that depends only on the report.
template <class SomeReport, class Use>
void for_each_node(SomeReport& report, const Use& use) {
    std::ranges::for_each(report.nodes, use);
    for (auto& gpu : report.gpus)
        std::ranges::for_each(gpu.nodes, use);
    for (auto& accelerator : report.accelerators)
        std::ranges::for_each(accelerator.nodes, use);
}

bool is_about_a_node(const Reason& reason) {
    return reason.is("no-permission") && !reason.detail.at("node").is_null();
}

/// Replaces the findings about nodes with the findings for the caller.
template <class Device>
void look_at_findings(const Host& host, Device& device) {
    std::erase_if(device.findings, [](const Reason& finding) {
        return is_about_a_node(finding) || finding.is("node-missing");
    });
    for (auto& finding : node_findings(device.nodes, host))
        device.findings.push_back(std::move(finding));
    device.health = health_of(device.findings);
}

/// Whether the backend's API listed the GPU for the prober.
bool lists(const Gpu& gpu, std::string_view backend) {
    const auto found = gpu.apis.find(std::string{api_below(backend)});
    return found != gpu.apis.end() && found->second.outcome == Outcome::Answered &&
           !found->second.device.is_null();
}

/// Adapts a backend's verdict to the caller. The verdict does not change if it is negative for a
/// reason other than closed nodes, or if no node is closed to the prober or to the caller.
void look_at_backend(const std::vector<Reason>& shut, bool is_listed, BackendView& view) {
    const bool was_shut = std::ranges::any_of(view.reasons, is_about_a_node);
    const bool is_ruled_out = view.usable == false && !was_shut;
    if (is_ruled_out || (shut.empty() && !was_shut))
        return;
    // Reasons about nodes that were closed to the prober are dropped if other nodes are closed to
    // the caller. Otherwise, these reasons become `prober-no-permission`.
    auto reasons = shut;
    for (auto& reason : view.reasons) {
        if (is_about_a_node(reason) && (!shut.empty() || is_listed))
            continue;
        if (is_about_a_node(reason))
            reason.becomes("prober-no-permission");
        reasons.push_back(std::move(reason));
    }
    view.usable = !shut.empty() ? std::optional{false}
                  : is_listed   ? std::optional{true}
                                : std::nullopt;
    view.verified = view.verified && shut.empty();
    view.reasons = std::move(reasons);
}

/// Removes everything that distinguishes this GPU from other GPUs of its model: UUIDs, LUID and
/// serial numbers, including those in its APIs' facts and partitions.
void drop_identifiers(Gpu& gpu) {
    auto& identity = gpu.identity;
    // DRM numbers and the KFD node do not identify the device elsewhere, so they stay.
    identity = Identity{.drm = identity.drm, .kfd_node = identity.kfd_node};
    for (auto& [api, view] : gpu.apis)
        hide_identity(view.device);
    for (auto& partition : gpu.partitions)
        partition.uuid.reset();
}

void look_at(const std::vector<DeviceNode>& shared, const Host& host, Gpu& gpu) {
    look_at_findings(host, gpu);
    for (auto& [name, view] : gpu.backends)
        look_at_backend(shut_nodes(name, shared, gpu), lists(gpu, name), view);
    if (is_closed(gpu))
        drop_identifiers(gpu);
}

}  // namespace

std::optional<bool> may_open(const DeviceNode& node, const Caller& caller) {
    if (caller.uid == 0)
        return true;
    if (!is_known(node))
        return std::nullopt;
    // The order of acl(5): owner, named users, groups, others.
    if (caller.uid == *node.uid)
        return grants(*node.mode >> 6);
    for (const auto& entry : node.acl)
        if (entry.tag == "user" && entry.id == caller.uid)
            return grants(entry.mode & mask_of(node));
    // If the groups are unknown, the mode decides only if it is the same for group and others.
    if (!caller.groups) {
        const bool all_agree = node.acl.empty() && grants(*node.mode) == grants(*node.mode >> 3);
        return all_agree ? std::optional{grants(*node.mode)} : std::nullopt;
    }
    return group_verdict(node, caller).value_or(grants(*node.mode));
}

std::string access_class(const Report& report, const Caller& caller) {
    std::string marks;
    // The key has one character for each node: '+' for open, '-' for closed, '?' for unknown.
    bool is_as_probed = true;
    for_each_node(report, [&](const DeviceNode& node) {
        const auto seen = seen_access(node, caller);
        marks += !seen ? '?' : *seen ? '+' : '-';
        is_as_probed = is_as_probed && seen == node.accessible;
    });
    const bool hides = std::ranges::any_of(report.gpus, is_closed);
    return is_as_probed && !hides ? std::string{} : marks;
}

Report as_seen_by(Report report, const Caller& caller) {
    for_each_node(report, [&](DeviceNode& node) { look_at(node, caller); });
    for (auto& gpu : report.gpus)
        look_at(report.nodes, report.host, gpu);
    for (auto& accelerator : report.accelerators)
        // Accelerators that only an API lists have no nodes and no known health.
        if (accelerator.health)
            look_at_findings(report.host, accelerator);
    return report;
}

Report as_recorded(Report report) {
    for (auto& gpu : report.gpus)
        for (auto& [name, view] : gpu.backends)
            if (lists(gpu, name))
                look_at_backend(shut_nodes(name, report.nodes, gpu), true, view);
    return report;
}

bool is_closed(const Gpu& gpu) {
    return std::ranges::any_of(gpu.nodes, [&gpu](const DeviceNode& node) {
        return is_for_computing(gpu.nodes, node.path) && node.accessible == false &&
               node.reason != "missing";
    });
}

}  // namespace gpuprobe::inline report
