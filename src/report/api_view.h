// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// What each API that was asked says about one GPU.
///
/// A GPU that the API lists has the outcome of that probe and its facts; of several drivers of the
/// API the preferred one's (`preference_of`), the others under `device.alternatives`. A GPU that it
/// does not list has the outcome of the driver that should serve it, judged by manifest name and
/// kernel driver, with one of the reasons `driver-crashed`, `driver-timed-out`, `driver-failed`,
/// `loader-missing`, `driver-missing` or `not-listed` (each with driver and note) and the probe's
/// own reasons (`asleep`, `quarantined`, `api-refused` …). Where no driver could serve it the
/// reason is `vendor-mismatch` or `driver-missing`; `ambiguous` says that a twin may be meant.
/// `inconclusive` follows when the kernel driver is bound and should be served.
std::map<std::string, ApiView> api_views(const Subject& subject,
                                         const std::vector<const ProbeResult*>& probes,
                                         WallTime now);

/// The claim of an API that its view rests on; null when the API does not list the subject.
const Claim* preferred_claim(const Subject& subject, std::string_view api);

/// Whether the driver had no say: no worker could be started, or it was ended from outside.
bool was_never_heard(const ProbeResult& probe);

/// Whether the API's driver had its say, whatever came of it: not where it was skipped or never
/// heard.
bool was_asked(const Gpu& gpu, std::string_view api);

}  // namespace gpuprobe::inline report
