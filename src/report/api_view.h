// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The view of each probed API on one GPU.
///
/// If the API lists the GPU, the view has the outcome of that probe and its facts. With several
/// drivers of the API, the preferred driver counts (`preference_of`), and the others are under
/// `device.alternatives`.
///
/// If the API does not list the GPU, the view has the outcome of the driver that should serve it,
/// judged by manifest name and kernel driver. Its reasons are one of `driver-crashed`,
/// `driver-timed-out`, `driver-failed`, `loader-missing`, `driver-missing` or `not-listed` (each
/// with driver and note), and the probe's own reasons (`asleep`, `quarantined`, `api-refused` …).
/// If no driver could serve the GPU, the reason is `vendor-mismatch` or `driver-missing`.
/// `ambiguous` means that the record may belong to a twin. `inconclusive` is added if the kernel
/// driver is bound, so that the driver should have listed the GPU.
std::map<std::string, ApiView> api_views(const Subject& subject,
                                         const std::vector<const ProbeResult*>& probes,
                                         WallTime now);

/// The record that an API's view is based on; null if the API does not list the subject.
const Claim* preferred_claim(const Subject& subject, std::string_view api);

/// Whether the driver was never called: the worker could not be started, or was ended from outside.
bool was_never_heard(const ProbeResult& probe);

/// Whether the API's driver was called, with any outcome. False if the probe was skipped or never
/// reached the driver.
bool was_asked(const Gpu& gpu, std::string_view api);

}  // namespace gpuprobe::inline report
