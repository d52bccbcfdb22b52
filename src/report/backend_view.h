// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// Whether each backend can run on one GPU, judged by its API's view and the kernel's data.
///
/// report/api_table.h defines which API a backend uses and which vendors it supports. The backend
/// webgpu also needs the features that Dawn requires from Vulkan.
///
/// True if the API lists the GPU and can compute on it. False if a reason settles the question: the
/// GPU is from another vendor or display-only, no driver is bound to it, the driver is missing,
/// refused or does not list it, or the device cannot compute. Null if a reason leaves it open, such
/// as `not-probed` or `driver-crashed`. The effect of each reason is in report/reason_table.h.
///
/// `gpu` must have its kind, vendor, driver, nodes, findings and apis. Sources: docs of each API;
/// Dawn, src/dawn/native/vulkan/PhysicalDeviceVk.cpp.
std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu);

/// A `no-permission` reason with node, group and mode for each node that the backend opens and the
/// prober cannot: nodes of the GPU, and nodes in `shared`, which belong to several devices.
std::vector<Reason> shut_nodes(std::string_view backend,
                               const std::vector<DeviceNode>& shared,
                               const Gpu& gpu);

/// Whether the GPU is in MIG mode and none of its usable partitions can have graphics, which only
/// works on instances with "+gfx" in the profile ("1g.24gb+gfx"). Source: NVIDIA MIG User Guide,
/// "Application Considerations" and "Supported MIG Profiles".
bool lacks_graphics(std::optional<bool> mig_mode, const std::vector<Unit>& units);

}  // namespace gpuprobe::inline report
