// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/report.h"

namespace gpuprobe {

/// A finding for each API whose driver crashed, hung or failed on this GPU.
std::vector<Reason> driver_findings(const std::map<std::string, ApiView>& apis);

/// A finding for each node that may not be used.
std::vector<Reason> node_findings(const std::vector<DeviceNode>& nodes);

/// The gravest finding's code, or "ok". From grave to light: `lost`, `wedged`, `driver-mismatch`,
/// `no-driver`, `passthrough`, `driver-crashed`, `driver-timed-out`, `no-permission`,
/// `uvm-missing`, `driver-failed`. Other findings inform and do not count.
std::string health_of(const std::vector<Reason>& findings);

}  // namespace gpuprobe
