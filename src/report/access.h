// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// A finding for each API whose driver crashed, hung or failed on this GPU. APIs of video engines
/// (reports_video()) are left out, because a video driver that fails must not make the GPU
/// unhealthy.
std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis);

/// Whether compute programs open this node of a GPU. Compute programs never open display nodes.
/// Compute programs open DRM's render node only if NVIDIA's driver isn't in use, because NVIDIA's
/// driver computes through other nodes.
bool is_for_computing(const std::vector<DeviceNode>& nodes, std::string_view path);

/// A finding for each node that computing needs and that isn't accessible (`no-permission`) or
/// does not exist (`node-missing`).
std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes, const Host& host);

/// A `device-denied` finding for each node that an API's worker wasn't allowed to open, including
/// nodes that several GPUs share.
std::vector<Reason> denied_findings(const Gpu& gpu);

/// The code of the most severe finding, or "ok". Findings without a severity in
/// report/reason_table.h are informational and do not count.
std::string health_of(const std::vector<Reason>& findings);

// The caller of a request, and the part of the machine that the caller can access. A report
// describes the prober's access, and other users may have other permissions.

struct Caller {
    std::uint32_t uid = 0;
    /// All groups of the caller, including the primary group; nullopt if unknown.
    std::optional<std::vector<std::uint32_t>> groups = {};
    bool operator==(const Caller&) const = default;
};

/// Whether `caller` may open the node for reading and writing, decided as the kernel does by owner,
/// mode and access control list. Always true for root. nullopt if a deciding fact is unknown.
/// Device control groups and namespaces aren't considered. Source: acl(5), "Access check
/// algorithm".
std::optional<bool> may_open(const DeviceNode& node, const Caller& caller);

/// A key that is equal for callers who can open the same nodes in this report, so that these
/// callers can share answers. Empty if the caller can open exactly the nodes that the prober could
/// open.
std::string access_class(const Report& report, const Caller& caller);

/// The report for `caller` instead of the prober, with the nodes that the caller can open, the
/// resulting findings and health, and the usable backends.
///
/// A backend whose nodes are closed to the caller isn't usable (`no-permission`), even if the
/// driver worked for the prober. A backend that failed for the prober because of missing
/// permission, and whose nodes are open to the caller, is unknown (`prober-no-permission`). The
/// views of the APIs aren't changed.
///
/// The UUIDs and serial numbers of a GPU that the caller cannot open are removed, because the
/// caller could not query them from the driver either.
Report as_seen_by(Report report, const Caller& caller);

/// Corrects the report of a capture whose drivers answered although the nodes were closed to the
/// prober, for example a capture that was assembled from several logs. In the result, access
/// depends on the nodes and not on the drivers' answers.
Report as_recorded(Report report);

/// Whether it is known that the caller cannot open a node that computing on this GPU needs.
bool is_closed(const Gpu& gpu);

}  // namespace gpuprobe::inline report
