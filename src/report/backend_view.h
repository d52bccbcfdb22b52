// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// Whether each backend can run on one GPU, from its API's view and what the kernel says.
///
/// Which API a backend rests on and whom it serves: report/api_table.h; webgpu also wants the
/// features that Dawn asks Vulkan for.
///
/// True when the API lists the GPU and can compute on it. False when a reason ends the question:
/// the GPU is another vendor's or only shows pixels, nothing drives it here, the driver is missing,
/// does not list it or refused, or the device cannot compute. Null when a reason leaves it open,
/// such as `not-probed` or `driver-crashed`. Which reason does what is in report/reason_table.h.
///
/// `gpu` needs its kind, vendor, driver, nodes, findings and apis.
/// Sources: docs of each API; Dawn, src/dawn/native/vulkan/PhysicalDeviceVk.cpp.
std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu);

/// `no-permission` with node, group and mode for each node that the backend opens and that is
/// closed to the prober: the GPU's own, and those in `shared` that are not of one device.
std::vector<Reason> shut_nodes(std::string_view backend,
                               const std::vector<DeviceNode>& shared,
                               const Gpu& gpu);

/// Whether the GPU is in MIG mode and no unit of it that programs can use may have graphics: none
/// works but on instances whose profile says so ("1g.24gb+gfx").
/// Source: NVIDIA MIG User Guide, "Application Considerations" and "Supported MIG Profiles".
bool lacks_graphics(std::optional<bool> mig_mode, const std::vector<Unit>& units);

}  // namespace gpuprobe::inline report
