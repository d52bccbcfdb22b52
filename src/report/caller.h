// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

/// Who asks, and what of the machine is open to them. A report is what the prober could open; that
/// is not what everyone can.
namespace gpuprobe::inline report {

struct Caller {
    std::uint32_t uid = 0;
    /// All of them, the primary one too; nullopt: nobody knows.
    std::optional<std::vector<std::uint32_t>> groups = {};
    bool operator==(const Caller&) const = default;
};

/// Whether `caller` may open the node for reading and writing, as the kernel would decide by owner,
/// mode and access control list; root may. nullopt where a fact that decides is not known.
/// Device control groups and namespaces are not looked at.
/// Source: acl(5), "Access check algorithm".
std::optional<bool> may_open(const DeviceNode& node, const Caller& caller);

/// Equal for callers to whom the same nodes of this report are open: what one of them is answered
/// holds for the other. Empty when all is open that was open to the prober, and nothing else.
std::string access_class(const Report& report, const Caller& caller);

/// The report with `caller` in the place of the prober: accessible nodes, the findings and health
/// that follow, and which backends are usable.
///
/// A backend whose nodes are closed to the caller is not usable (`no-permission`), whatever the
/// driver told the prober. One that failed the prober for want of permission, and whose nodes are
/// open to the caller, is not known (`prober-no-permission`). What the APIs said stays.
///
/// Who can't open a GPU can't ask its driver for UUIDs and serial numbers: such a GPU loses them.
Report as_seen_by(Report report, const Caller& caller);

/// The GPU without what tells it from another of its kind: UUIDs, LUID and serial numbers, also
/// those in its APIs' facts and units.
void drop_identifiers(Gpu& gpu);

/// Whether a node that computing on this GPU needs is known to be closed.
bool is_closed(const Gpu& gpu);

}  // namespace gpuprobe::inline report
