// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/join.h"
#include "report/machine.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The view of each probed API on one GPU.
///
/// If the API lists the GPU, the view has the outcome and the facts from that probe. If several
/// drivers of the API list the GPU, the view is about the preferred driver (`preference_of`), and
/// `device.alternatives` contains the facts from the other drivers.
///
/// If the API does not list the GPU, the view has the outcome of the driver that should serve the
/// GPU, according to the names of the manifest and of the kernel driver. The view then has one of
/// the reasons `driver-crashed`, `driver-timed-out`, `driver-failed`, `loader-missing`,
/// `driver-missing` or `not-listed` (each with driver and note), and the probe's own reasons
/// (`asleep`, `quarantined`, `api-refused` …). If no driver could serve the GPU, the reason is
/// `vendor-mismatch` or `driver-missing`. `ambiguous` means that the record may belong to an
/// identical GPU. `inconclusive` is added if the kernel driver is bound, so that the driver should
/// have listed the GPU.
std::map<std::string, ApiView> api_views(const Subject& subject,
                                         const std::vector<const ProbeResult*>& probes,
                                         WallTime now);

/// The record that an API's view is based on; null if the API does not list the subject.
const Claim* preferred_claim(const Subject& subject, std::string_view api);

/// Whether the driver was never called, because the worker could not be started or something other
/// than the driver ended the worker.
bool was_never_heard(const ProbeResult& probe);

/// Whether the API's driver was called, with any outcome. False if the probe was skipped or never
/// reached the driver.
bool was_asked(const Gpu& gpu, std::string_view api);

/// Whether each backend can run on one GPU, judged by its API's view and the kernel's data.
///
/// report/api_table.h defines which API a backend uses and which vendors it supports. The backend
/// webgpu also needs the features that Dawn requires from Vulkan.
///
/// True if the API lists the GPU and can compute on it. False if a reason rules the backend out:
/// the GPU is from another vendor or display-only, no driver is bound to the GPU, the driver is
/// missing, refused or does not list the GPU, or the device cannot be used for compute. Null if it
/// is unknown whether the backend can run, for a reason such as `not-probed` or `driver-crashed`.
/// The effect of each reason is in report/reason_table.h.
///
/// The kind, vendor, driver, nodes, findings and apis of `gpu` must be set. Sources: docs of each
/// API; Dawn, src/dawn/native/vulkan/PhysicalDeviceVk.cpp.
std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu);

/// Whether a backend on an API of video engines (kVideoBackends) can run on the GPU: true if the
/// API lists the GPU and its render node is open, null if it is unknown whether the backend can
/// run. The fact `video` contains the formats that the engines support.
BackendView video_view(std::string_view api, const std::vector<DeviceNode>& shared, const Gpu& gpu);

/// A `no-permission` reason with node, group and mode for each node that the backend opens and the
/// prober cannot open. The nodes are the nodes of the GPU and the nodes in `shared`, which belong
/// to several devices.
std::vector<Reason> shut_nodes(std::string_view backend,
                               const std::vector<DeviceNode>& shared,
                               const Gpu& gpu);

}  // namespace gpuprobe::inline report
