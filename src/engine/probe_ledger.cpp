// SPDX-License-Identifier: Apache-2.0
#include "engine/probe_ledger.h"

#include "base/text.h"
#include "engine/targets.h"
#include "inventory/host.h"
#include "report/api_table.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {
namespace {

/// Source: random(4).
constexpr std::string_view kBootId = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kMaxNote = 512;

/// The harm that a result shows, if any.
std::optional<Harm> harm_of(const ProbeResult& probe) {
    if (probe.outcome == Outcome::Crashed)
        return Harm::Crashed;
    if (probe.outcome == Outcome::TimedOut)
        return Harm::TimedOut;
    return std::nullopt;
}

/// Whether the probe loads a vendor's driver. Probes that only read the kernel's files or use
/// libpci can't take anything down and are not recorded.
bool loads_driver(const ProbeTarget& target) {
    const auto* api = find_api(target.api);
    return !api || api->wakes;
}

/// Whether the result clears the driver. A worker that ended without a result might still do harm.
bool is_harmless(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
}

/// The result for a target in quarantine, with all details for the report.
ProbeResult held_back(const ProbeTarget& target, const QuarantinedProbe& held) {
    return skipped(target, "in quarantine",
                   because("quarantined", {{"driver", target.driver},
                                           {"why", to_value(held.why)},
                                           {"times", to_value(held.times)},
                                           {"since_usec", to_value(held.since)},
                                           {"until_usec", to_value(held.until)},
                                           {"note", to_value(held.note)}}));
}

/// A note about the quarantine's file.
Reason because_of(ReasonCode code, const Error& error) {
    return because(code, {{"what", "quarantine"}, {"problem", scrubbed(error.text, kMaxNote)}});
}

Error filter_at_fault(std::string_view key, std::string_view problem) {
    return Error{ErrorCode::InvalidRequest,
                 "quarantine: " + scrubbed(key, 64) + ": " + std::string{problem}};
}

}  // namespace

ProbeLedger::ProbeLedger(const FileSystem& files,
                         const Machine& machine,
                         const Clock& clock,
                         const std::optional<std::string>& folder)
    : files_{files}, machine_{machine}, quarantine_{folder, clock} {}

void ProbeLedger::open() {
    const auto opened = quarantine_.open(files_.line(kBootId).value_or(""));
    if (!opened)
        unread_ = because_of("state-ignored", opened.error());
}

std::vector<Reason> ProbeLedger::notes() const {
    std::vector<Reason> notes;
    for (const auto* note : {&unread_, &unkept_})
        if (*note)
            notes.push_back(**note);
    return notes;
}

/// Keeps the error of a failed write for notes().
void ProbeLedger::note(const Status& saved) {
    if (!saved)
        unkept_ = because_of("state-not-kept", saved.error());
}

/// The key has the driver's fingerprint, so that an updated driver is not in quarantine.
store::ProbeKey ProbeLedger::key_of(const ProbeTarget& target) const {
    // The linker's cache is included because a manifest may name a library without its folder.
    std::vector<std::string> watched{std::string{kLinkerCache}};
    if (!target.driver.empty())
        watched.push_back(target.driver);
    if (target.library && target.library->starts_with('/'))
        watched.push_back(*target.library);
    return store::ProbeKey{
        .api = target.api,
        .driver = target.driver,
        .stage = target.stage,
        .device = target.device,
        .fingerprint = store::driver_fingerprint_of(devices_of(target, machine_),
                                                    machine_.host.kernel, files_, watched)};
}

std::optional<ProbeResult> ProbeLedger::instead_of(const ProbeTarget& target) const {
    const auto* held = quarantine_.find(key_of(target));
    return held ? std::optional{held_back(target, *held)} : std::nullopt;
}

bool ProbeLedger::is_suspect(const ProbeTarget& target) const {
    return quarantine_.is_suspect(key_of(target));
}

/// Writes the file once for all targets, before any of them can do harm.
void ProbeLedger::begin(const std::vector<ProbeTarget>& targets) {
    std::vector<store::ProbeKey> keys;
    for (const auto& target : targets) {
        if (!loads_driver(target))
            continue;
        auto& key = running_[target];
        quarantine_.ended(key);  // the key may be another one if the driver was replaced
        key = key_of(target);
        keys.push_back(key);
    }
    if (keys.empty())
        return;
    unkept_.reset();
    note(quarantine_.begin(keys));
}

void ProbeLedger::confirm(const ProbeTarget& target) {
    const auto found = running_.find(target);
    // The probe may have begun before the scan knew all devices, with another key.
    if (found != running_.end() && found->second != key_of(target))
        begin({target});
}

/// Records harm, or clears the driver. Returns whether it did harm but is not held back yet.
bool ProbeLedger::judge(const store::ProbeKey& key, const ProbeResult& probe) {
    if (const auto harm = harm_of(probe))
        return !quarantine_.strike(key, *harm, probe.note);
    if (is_harmless(probe))
        quarantine_.pardon(key);
    return false;
}

bool ProbeLedger::should_retry(const ProbeTarget& target, const ProbeResult& probe) {
    const auto found = running_.find(target);
    if (found == running_.end())
        return false;
    // For a retry, the entry stays in the list of running probes.
    if (judge(found->second, probe))
        return true;
    quarantine_.ended(found->second);
    running_.erase(found);
    return false;
}

void ProbeLedger::answered(const ProbeTarget& target) {
    if (const auto found = running_.find(target); found != running_.end())
        quarantine_.pardon(found->second);
}

/// Once a round has ended, the next probes are not the first since boot.
void ProbeLedger::settle(const std::set<ProbeTarget>& still_running) {
    std::erase_if(running_, [&](const auto& entry) {
        if (still_running.contains(entry.first))
            return false;
        quarantine_.ended(entry.second);
        return true;
    });
    quarantine_.warm_up();
    note(quarantine_.settle());
}

void ProbeLedger::remove_ended() {
    note(quarantine_.settle());
}

void ProbeLedger::judge_unannounced(const ProbeTarget& target, const ProbeResult& probe) {
    (void)judge(key_of(target), probe);
    note(quarantine_.settle());
}

Result<store::QuarantineFilter> quarantine_filter_from(const Value& object) {
    const auto* members = object.as_object();
    if (!members)
        return Error{ErrorCode::InvalidRequest, "quarantine: expected an object"};
    store::QuarantineFilter filter;
    bool is_all = false;
    for (const auto& [key, value] : *members) {
        const auto* text = value.as_string();
        if (key == "all" && value.as_bool() == true)
            is_all = true;
        else if (key == "api" && text)
            filter.api = *text;
        else if (key == "driver" && text)
            filter.driver = *text;
        else
            return filter_at_fault(key, key == "api" || key == "driver" ? "expected a string"
                                        : key == "all"                  ? "expected true"
                                                                        : "unknown key");
    }
    if (filter.api && !find_api(*filter.api))
        return filter_at_fault("api", "no API '" + scrubbed(*filter.api, 64) + "'");
    // Exactly one of the two forms is allowed.
    if (is_all == (filter.api || filter.driver))
        return filter_at_fault("all", is_all ? "stands alone" : "missing; or api, or driver");
    return filter;
}

}  // namespace gpuprobe::engine
