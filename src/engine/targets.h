// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "engine/probe_results.h"
#include "probe/target.h"
#include "report/machine.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::engine {

/// The devices that the driver behind `target` may drive: those of its vendor if the API or the
/// manifest's name tells the vendor, otherwise all.
std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine);

/// The sleeping device that probing `target` would wake; nullopt when it would wake none.
///
/// A driver manifest whose name tells its vendor wakes only that vendor's devices; any other is
/// assumed to wake all. `pci` reads what the kernel caches and wakes nothing.
std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine);

/// Whether it says which GPUs the machine has, with names or memory, and computes on none.
bool names_gpus(const ProbeTarget& target, const Machine& machine);

/// Puts targets into the order in which to start them, for the earliest useful answer and the
/// earliest complete one: what names the machine's GPUs without computing on them (the kernel,
/// management libraries), the most believed first; then what computes on them, that which took
/// longest last time first; then what says something else of them; then software, and what the
/// machine has no GPU for. Each start takes some milliseconds.
void sort_for_start(std::vector<ProbeTarget>& targets,
                    const Machine& machine,
                    const ProbeResults& known);

/// The result of a probe that was not run.
ProbeResult skipped(const ProbeTarget& target, std::string note, Reason reason);
/// The same because it would have woken `device`.
ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device);

/// The fingerprint under which the result of a verification or measurement holds
/// (trial_fingerprint_of() in store/probe_cache.h). It covers the target's device alone, and the
/// libraries with which its API computes; where the dynamic linker's cache does not name these, the
/// whole cache.
std::string fingerprint_of(const ProbeTarget& trial,
                           const Machine& machine,
                           const FileSystem& files);

/// A device that is to be verified or measured.
struct TrialTarget {
    ProbeTarget target = {};
    const Gpu* gpu = nullptr;  ///< borrowed from the report; null for software and the processor
};

/// The devices that a request of the stage "verify" or "measure" is about: each GPU through each
/// API that lists it, with the driver that the API's view is based on, unless the backend is known
/// not to be usable for a reason other than a wrong result. If the request names no GPU, the
/// software implementations and the processor as well. `queries`: the targets of the machine.
std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request);

/// Whether `api` names an API that runs kernels.
bool computes(std::string_view api);

}  // namespace gpuprobe::engine
