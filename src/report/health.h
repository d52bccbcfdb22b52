// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline report {

/// A finding for each API whose driver crashed, hung or failed on this GPU.
std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis);

/// Whether compute programs open this node of a GPU. They never open display nodes. They open DRM's
/// render node only if NVIDIA's driver is not in use, because that driver computes through other
/// nodes.
bool is_for_computing(const std::vector<DeviceNode>& nodes, std::string_view path);

/// A finding for each node that computing needs and that is not accessible (`no-permission`) or
/// does not exist (`node-missing`).
std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes, const Host& host);

/// A `device-denied` finding for each node, of the GPU or shared, that an API's worker was not
/// allowed to open.
std::vector<Reason> denied_findings(const Gpu& gpu);

/// The code of the most severe finding, or "ok". Findings without a severity in
/// report/reason_table.h are informational and do not count.
std::string health_of(const std::vector<Reason>& findings);

}  // namespace gpuprobe::inline report
