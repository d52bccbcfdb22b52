// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe {

/// Whether each backend can run on one GPU, from its API's view and what the kernel says.
///
/// Which API a backend rests on and whom it serves: report/api_table.h; webgpu also wants the
/// features that Dawn asks Vulkan for.
///
/// True when the API lists the GPU and can compute on it.
///
/// False when the vendor is another (`vendor-mismatch`), it only shows pixels (`display-only`),
/// nothing drives it here (`passthrough`, `no-driver`, `driver-mismatch`, and for CUDA, once asked,
/// `uvm-missing`), the driver is not there or does not list it (`loader-missing`, `driver-missing`,
/// `not-listed`, `no-permission` with node, group and mode), the driver refused (`api-refused` and
/// the like), or the device cannot compute (`no-compute-device`, `compute-prohibited`,
/// `webgpu-features`).
///
/// Null when nobody knows: `not-probed`, `skipped` and its kinds (`asleep`, `quarantined` …),
/// `driver-crashed`, `driver-timed-out`, `driver-failed`, `inconclusive`, `ambiguous`,
/// `webgpu-unknown`.
///
/// `gpu` needs its kind, vendor, driver, nodes, findings and apis.
/// Sources: docs of each API; Dawn, src/dawn/native/vulkan/PhysicalDeviceVk.cpp.
std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu);

/// `no-permission` with node, group and mode for each node that the backend opens and that is
/// closed to the prober: the GPU's own, and those in `shared` that are not of one device.
std::vector<Reason> shut_nodes(std::string_view backend,
                               const std::vector<DeviceNode>& shared,
                               const Gpu& gpu);

}  // namespace gpuprobe
