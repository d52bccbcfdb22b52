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

/// Whether computing opens this node of a GPU: no node for displays, and DRM's render node only
/// where NVIDIA's driver, which computes through nodes of its own, is not in use.
bool is_for_computing(const std::vector<DeviceNode>& nodes, std::string_view path);

/// A finding for each node that computing needs and that may not be used (`no-permission`) or is
/// not there (`node-missing`).
std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes, const Host& host);

/// `device-denied` for each node, of the GPU or shared, that an API's worker was not let into.
std::vector<Reason> denied_findings(const Gpu& gpu);

/// The gravest finding's code, or "ok". Findings without a gravity of their own in
/// report/reason_table.h inform and do not count.
std::string health_of(const std::vector<Reason>& findings);

}  // namespace gpuprobe::inline report
