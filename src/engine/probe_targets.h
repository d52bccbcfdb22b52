// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "engine/probed_machine.h"
#include "probe/target.h"
#include "report/machine.h"
#include "report/report.h"
#include "report/trials.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {

/// The paths whose change may mean that another driver answers: the driver's manifest or, for a
/// render node, the folders that contain VA drivers. Empty if the API has only one driver.
std::vector<std::string> paths_of_driver(const ProbeTarget& target, const Host& host);

/// The devices that the driver of `target` may serve: all devices of the driver's vendor if the API
/// or the manifest's name identifies this vendor, otherwise all devices. Empty if the driver is a
/// software implementation.
std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine);

/// The id of a sleeping device that probing `target` would wake; nullopt if probing `target` wakes
/// no device.
///
/// A driver wakes only devices of its vendor if its manifest's name identifies the vendor; any
/// other driver is assumed to wake all devices. The API `pci` reads data that the kernel caches,
/// and wakes no device.
std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine);

/// Whether the target lists the machine's GPUs with names or memory, through an API that cannot
/// compute.
bool names_gpus(const ProbeTarget& target, const Machine& machine);

/// Sorts targets into the order in which they should be started. With this order, a useful report
/// and the complete report are available as early as possible. Each start takes some milliseconds.
/// The order is:
/// 1. targets that name the machine's GPUs (the kernel, management libraries), most trusted first;
/// 2. compute APIs, slowest (by their last result) first;
/// 3. other targets that report something about the GPUs;
/// 4. software implementations, and drivers that have no GPU on this machine.
void sort_for_start(std::vector<ProbeTarget>& targets,
                    const Machine& machine,
                    const ProbeResults& known);

/// The result for a probe that was skipped.
ProbeResult skipped(const ProbeTarget& target, std::string note, Reason reason);
/// The result for a probe that was skipped because it would have woken `device`.
ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device);
/// The GPU that a worker found asleep and therefore did not open; nullopt if the worker did
/// anything else, or if its API never wakes GPUs.
std::optional<std::string> fallen_asleep(const ProbeTarget& target, const ProbeResult& probe);

/// The fingerprint of a verification or measurement: the result is valid as long as this
/// fingerprint stays the same (trial_fingerprint_of() in store/probe_history.h). The fingerprint
/// covers only the target's device and the libraries of its API. If the dynamic linker's cache does
/// not list these libraries, the fingerprint covers the whole cache instead.
std::string fingerprint_of(const ProbeTarget& trial,
                           const Machine& machine,
                           const FileSystem& files);

/// A device to verify or measure.
struct TrialTarget {
    ProbeTarget target = {};
    const Gpu* gpu = nullptr;  ///< borrowed from the report; null if the device isn't a GPU
};

/// The targets of a request with the stage "verify" or "measure": each GPU through each API that
/// lists it, with the driver that the API's view is based on. Leaves out backends that are known to
/// be unusable, unless the reason makes a trial worthwhile (ReasonTraits::WorthATrial, for instance
/// a wrong result). If the request names no GPU, includes software implementations and the
/// processor. `queries` contains the targets of the machine.
std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request);

/// Whether the API runs kernels, on a GPU or the processor.
bool runs_kernels(std::string_view api);

/// Keeps the engine from repeating harmful probes. Maps ProbeTargets to the keys of
/// store/probe_history.h.
class ProbeLedger {
public:
    /// `folder` contains the quarantine's file. If `folder` is absent, the quarantine lasts as long
    /// as this object. The other arguments are borrowed.
    ProbeLedger(const FileSystem& files,
                const Machine& machine,
                const Clock& clock,
                const std::optional<std::string>& folder);

    /// Reads the file that the previous process left. Call this function once.
    void open();
    /// Notes for the report if the quarantine's file could not be read or cannot be written.
    [[nodiscard]] std::vector<Reason> notes() const;

    /// The result for a target in quarantine, which is Skipped with the reason "quarantined"
    /// {driver, why, times, since_usec, until_usec, note}. nullopt if the target may be probed.
    [[nodiscard]] std::optional<ProbeResult> instead_of(const ProbeTarget& target) const;
    /// Whether the probe of `target` is one of several probes that may have crashed the machine or
    /// the daemon. A suspected probe must run alone, so that a second crash identifies the cause.
    [[nodiscard]] bool is_suspect(const ProbeTarget& target) const;
    /// Whether no driver is a suspect or in quarantine.
    [[nodiscard]] bool is_clean() const { return quarantine_.is_clean(); }
    /// Records that the probes of `targets` are about to run. Call this function before the workers
    /// start.
    void begin(const std::vector<ProbeTarget>& targets);
    /// Updates the record of a running probe. Call this function after a scan that followed
    /// begin().
    void confirm(const ProbeTarget& target);
    /// Records the result of a probe. Call this function with each result. Returns true if the
    /// driver crashed or hung for the first time, in which case it should be probed again.
    [[nodiscard]] bool should_retry(const ProbeTarget& target, const ProbeResult& probe);
    /// Clears the past failures of a driver. Call this function when an answer is complete but its
    /// worker has not ended.
    void answered(const ProbeTarget& target);
    /// Records that all probes except `still_running` have ended, and writes the file.
    void settle(const std::set<ProbeTarget>& still_running);
    /// Removes ended probes from the file. Call this function when a probe takes a long time:
    /// this probe may crash the machine, and the crash must not be attributed to probes that have
    /// already ended.
    void remove_ended();
    /// Whether no driver has been probed since the machine booted, as far as is known.
    [[nodiscard]] bool is_cold() const { return quarantine_.is_cold(); }
    /// Evaluates the result of a probe for which begin() wasn't called, because its driver
    /// answered earlier.
    void judge_unannounced(const ProbeTarget& target, const ProbeResult& probe);

    [[nodiscard]] std::vector<QuarantinedProbe> held() const { return quarantine_.held(); }
    Result<std::uint32_t> clear(const store::QuarantineFilter& filter) {
        return quarantine_.clear(filter);
    }

private:
    [[nodiscard]] store::ProbeKey key_of(const ProbeTarget& target) const;
    [[nodiscard]] bool judge(const store::ProbeKey& key, const ProbeResult& probe);
    void note(const Status& saved);

    const FileSystem& files_;
    const Machine& machine_;
    store::Quarantine quarantine_;
    /// The keys of running probes at the time when they were started, because a driver may be
    /// replaced while it is probed.
    std::map<ProbeTarget, store::ProbeKey> running_ = {};
    std::optional<Reason> unread_ = {};
    std::optional<Reason> unkept_ = {};
};

/// Reads a filter, which contains `api` or `driver` or both, or only `all` (true). Errors:
/// InvalidRequest with the key at fault.
Result<store::QuarantineFilter> quarantine_filter_from(const Value& object);

}  // namespace gpuprobe::engine
