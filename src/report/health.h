// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gpuprobe {

/// A finding for each API whose driver crashed, hung or failed on this GPU.
std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis);

/// Whether computing opens that one of a GPU's nodes: not those for displays, and DRM's render node
/// only without NVIDIA's driver, which computes through nodes of its own.
bool is_for_computing(const std::vector<DeviceNode>& nodes, std::string_view path);

/// A finding for each node that computing needs and that may not be used (`no-permission`) or is
/// not there (`node-missing`).
std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes, const Host& host);

/// `device-denied` for each node of the GPU, or of all, that an API's worker was not let into.
std::vector<Reason> denied_findings(const Gpu& gpu);

/// The gravest finding's code, or "ok". From grave to light: `lost`, `wedged`, `driver-mismatch`,
/// `no-driver`, `passthrough`, `driver-crashed`, `driver-timed-out`, `device-denied`,
/// `no-permission`, `uvm-missing`, `driver-failed`. Other findings inform and do not count.
std::string health_of(const std::vector<Reason>& findings);

/// Whether somebody who may not open a node may join its group for that: root's is no group to
/// join, and one without a name, a number, is another machine's.
bool is_for_joining(std::string_view group);

}  // namespace gpuprobe
