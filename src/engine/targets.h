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

/// The devices that the driver of `target` may serve: all devices of its vendor if the API or the
/// manifest's name identifies the vendor, otherwise all devices. Empty for software.
std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine);

/// The id of a sleeping device that probing `target` would wake; nullopt if it wakes no device.
///
/// A driver wakes only devices of its vendor if its manifest's name identifies the vendor; any
/// other driver is assumed to wake all devices. `pci` reads data that the kernel caches and wakes
/// nothing.
std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine);

/// Whether the target lists the machine's GPUs with names or memory, through an API that can't
/// compute.
bool names_gpus(const ProbeTarget& target, const Machine& machine);

/// Sorts targets into the order in which to start them, for the earliest useful report and the
/// earliest complete one. Each start takes some milliseconds. The order is:
/// 1. targets that name the machine's GPUs (the kernel, management libraries), most trusted first;
/// 2. compute APIs, slowest (by their last result) first;
/// 3. other targets that report something about the GPUs;
/// 4. software, and drivers without a GPU here.
void sort_for_start(std::vector<ProbeTarget>& targets,
                    const Machine& machine,
                    const ProbeResults& known);

/// The result for a probe that was skipped.
ProbeResult skipped(const ProbeTarget& target, std::string note, Reason reason);
/// The same for a probe that would have woken `device`.
ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device);

/// The fingerprint of a verification or measurement: its result is valid as long as this stays the
/// same (trial_fingerprint_of() in store/probe_history.h). It covers only the target's device and
/// the libraries of its API, or the whole dynamic linker's cache if that does not list the
/// libraries.
std::string fingerprint_of(const ProbeTarget& trial,
                           const Machine& machine,
                           const FileSystem& files);

/// A device to verify or measure.
struct TrialTarget {
    ProbeTarget target = {};
    const Gpu* gpu = nullptr;  ///< borrowed from the report; null for software and the processor
};

/// The targets of a request with the stage "verify" or "measure": each GPU through each API that
/// lists it, with the driver that the API's view is based on. Leaves out backends that are known to
/// be unusable, unless the reason makes a trial worthwhile (ReasonTraits::WorthATrial, for instance
/// a wrong result). If the request names no GPU, includes software implementations and the
/// processor. `queries`: the targets of the machine.
std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request);

/// Whether `api` is an API that runs kernels.
bool computes(std::string_view api);

}  // namespace gpuprobe::engine
