// SPDX-License-Identifier: Apache-2.0
#include "engine/probe_targets.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "inventory/host.h"
#include "report/api_device.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/gpu_views.h"
#include "report/hardware.h"
#include "report/trials.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {
namespace {

/// The name prefixes of the libraries that a target's API loads.
std::vector<std::string> sonames_of(const ProbeTarget& target) {
    std::vector<std::string> starts;
    if (const auto* api = find_api(target.api))
        for (const auto start : words(api->libraries))
            starts.emplace_back(start);
    if (target.library && target.library->find('/') == std::string::npos)
        starts.push_back(*target.library);
    return starts;
}

/// The files on which the result of a trial depends: the API's libraries that the dynamic linker
/// finds, and the driver's manifest and library.
std::vector<std::string> files_of(const ProbeTarget& target,
                                  const Machine& machine,
                                  const FileSystem& files) {
    std::vector<std::string> watched;
    if (target.api == kCpuApi)
        return watched;
    if (auto paths = library_paths(files, machine.host.arch.value_or(""), sonames_of(target)))
        watched = std::move(*paths);
    if (watched.empty())
        watched.emplace_back(kLinkerCache);
    std::ranges::move(paths_of_driver(target, machine.host), std::back_inserter(watched));
    if (target.library && target.library->starts_with('/'))
        watched.push_back(*target.library);
    return watched;
}

template <class Names>
/// Whether a request's list contains the name; an empty list contains all names.
bool is_among(const Names& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
}

/// The key by which a trial selects a device, from the API's facts about it.
std::optional<std::string> key_of(const Value& device) {
    const auto facts = facts_from(device);
    return facts ? device_key(*facts) : std::nullopt;
}

/// The key by which a trial selects a GPU or partition. A MIG instance is selected by its UUID,
/// because CUDA shows a process only one instance, at index 0. Other partitions may share a PCI
/// address and are selected by index.
std::optional<std::string> key_of(const Gpu& gpu, std::string_view api) {
    const auto& view = gpu.apis.at(std::string{api});
    const auto* partition = partition_of(gpu);
    if (!partition && is_listed_when_named(view))
        return key_by_address(gpu);
    if (!partition)
        return key_of(view.device);
    if (stands_alone(gpu))
        return partition->uuid ? std::optional{"uuid:" + *partition->uuid} : std::nullopt;
    return view.index ? std::optional{"index:" + std::to_string(*view.index)} : std::nullopt;
}

/// The trial's target for one device of a query. nullopt if the machine has no such driver or the
/// device has no key.
std::optional<ProbeTarget> target_for(const std::vector<ProbeTarget>& queries,
                                      std::string_view api,
                                      const std::optional<std::string>& driver,
                                      std::optional<std::string> key,
                                      const std::string& stage) {
    const auto found = std::ranges::find_if(queries, [&](const ProbeTarget& query) {
        return query.api == api && (query.driver.empty() || query.driver == driver);
    });
    if (found == queries.end() || !key)
        return std::nullopt;
    auto target = *found;
    target.stage = stage;
    target.device = std::move(key);
    return target;
}

/// Whether the API can use the device: the API lists the device, at least when it is restricted to
/// this device.
bool is_offered(const ApiView& view) {
    return view.outcome == Outcome::Answered || is_listed_when_named(view);
}

/// Whether a trial of this GPU with this API makes sense.
bool may_compute(const Gpu& gpu, const ApiInfo& computing) {
    const auto view = gpu.apis.find(std::string{computing.word});
    const auto backend = gpu.backends.find(std::string{computing.backend});
    if (view == gpu.apis.end() || !is_offered(view->second) || backend == gpu.backends.end())
        return false;
    // Our worker may be able to use a backend that other programs can't use, as with
    // "nvidia-icd-needs-egl".
    return backend->second.usable != false ||
           has_reason_with(backend->second.reasons, ReasonTraits::WorthATrial);
}

/// Whether the device runs with NVIDIA's kernel driver.
bool runs_cuda(const HardwareDevice& device) {
    return device.driver && has_word(info_of(Api::Cuda).kernel_drivers, *device.driver);
}

}  // namespace

std::vector<std::string> paths_of_driver(const ProbeTarget& target, const Host& host) {
    if (!has_own_nodes(target.api))
        return target.driver.empty() ? std::vector<std::string>{} : std::vector{target.driver};
    if (target.api != info_of(Api::Vaapi).word)
        return {};
    // A VA driver is chosen by the name of the kernel driver, so its path is known only after the
    // driver was loaded. Source: the option `driverdir` of libva's packages in Debian, Fedora, RPM
    // Fusion, Arch Linux and NixOS.
    std::vector<std::string> folders;
    for (const auto& folder : library_folders(host))
        for (const auto* name : {"/dri", "/dri-nonfree", "/dri-freeworld"})
            folders.push_back(folder + name);
    return folders;
}

std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine) {
    // If the vendor is unknown, the driver may serve any device.
    const auto known = known_driver(target.api, target.driver);
    std::vector<const HardwareDevice*> devices;
    if (known.is_software || target.api == kCpuApi)
        return devices;
    const bool opens_one_node = has_own_nodes(target.api);
    // nvidia-vaapi-driver calls cuInit(), which opens all GPUs of NVIDIA's kernel driver.
    const bool opens_cuda =
        opens_one_node && std::ranges::any_of(machine.devices, [&](const HardwareDevice& device) {
            return has_node(device, target.driver) && runs_cuda(device);
        });
    const auto is_served = [&](const HardwareDevice& device) {
        if (opens_one_node)
            return has_node(device, target.driver) || (opens_cuda && runs_cuda(device));
        // Only V4L2 uses codecs, which are suspended whenever they are idle.
        if (const auto* row = driver_row_of(device); row && row->is_video_codec())
            return false;
        return known.vendor.empty() || (device.vendor_id && vendor_of(device) == known.vendor);
    };
    for (const auto& device : machine.devices)
        if (is_served(device))
            devices.push_back(&device);
    return devices;
}

std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine) {
    if (const auto* api = find_api(target.api); api && !api->wakes)
        return std::nullopt;
    for (const auto* device : devices_of(target, machine))
        if (device->runtime_status == "suspended" || device->runtime_status == "suspending")
            return device->id;
    return std::nullopt;
}

bool names_gpus(const ProbeTarget& target, const Machine& machine) {
    const auto* api = find_api(target.api);
    return api && api->backend.empty() && (api->trust.name != 0 || api->trust.physical != 0) &&
           !devices_of(target, machine).empty();
}

void sort_for_start(std::vector<ProbeTarget>& targets,
                    const Machine& machine,
                    const ProbeResults& known) {
    const auto group = [&machine](const ProbeTarget& target) {
        if (devices_of(target, machine).empty())
            return 3;
        if (names_gpus(target, machine))
            return 0;
        return runs_kernels(target.api) ? 1 : 2;
    };
    // Targets that report memory but no names come after the target with the least trusted names.
    const auto belief = [&group](const ProbeTarget& target) -> std::size_t {
        const auto* api = find_api(target.api);
        const bool reports_names = api != nullptr && api->trust.name != 0;
        return group(target) != 0 ? 0 : reports_names ? api->trust.name : kApis.size();
    };
    const auto last_time = [&known](const ProbeTarget& target) {
        const auto* result = known.find(target);
        return result ? result->duration.value_or(Duration::zero()) : Duration::zero();
    };
    std::ranges::stable_sort(targets, [&](const ProbeTarget& one, const ProbeTarget& other) {
        // `one` and `other` are swapped when the times are compared, because the longest time comes
        // first.
        return std::tuple{group(one), belief(one), last_time(other)} <
               std::tuple{group(other), belief(other), last_time(one)};
    });
}

ProbeResult skipped(const ProbeTarget& target, std::string note, Reason reason) {
    return ProbeResult{.api = target.api,
                       .driver = target.driver,
                       .stage = target.stage,
                       .device = target.device,
                       .outcome = Outcome::Skipped,
                       .note = std::move(note),
                       .reasons = {std::move(reason)}};
}

ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device) {
    return skipped(target, device + " is suspended", because("asleep", {{"device", device}}));
}

std::optional<std::string> fallen_asleep(const ProbeTarget& target, const ProbeResult& probe) {
    const auto* api = find_api(target.api);
    const bool is_only_reason = probe.outcome == Outcome::Failed && probe.reasons.size() == 1 &&
                                probe.reasons.front().is("asleep");
    if (!api || !(api->wakes || has_own_nodes(target.api)) || !is_only_reason)
        return std::nullopt;
    const auto* device = probe.reasons.front().detail.at("device").as_string();
    return device ? std::optional{*device} : std::nullopt;
}

std::string fingerprint_of(const ProbeTarget& trial,
                           const Machine& machine,
                           const FileSystem& files) {
    auto devices = devices_of(trial, machine);
    // A device without an address may be any device of the driver, so include all devices of the
    // driver.
    if (trial.device && trial.device->starts_with("pci:"))
        std::erase_if(
            devices, [&trial](const HardwareDevice* device) { return device->id != trial.device; });
    return store::trial_fingerprint_of(devices, machine.host, files,
                                       files_of(trial, machine, files));
}

std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request) {
    std::vector<TrialTarget> targets;
    const auto add = [&](std::optional<ProbeTarget> target, const Gpu* gpu) {
        if (target)
            targets.push_back({.target = std::move(*target), .gpu = gpu});
    };
    // In the view, partitions are GPUs that belong to their parent. A request may name the parent
    // or a partition.
    const ComputeView view{report};
    for (const auto& whole : report.gpus)
        for (const auto& gpu : view.report().gpus) {
            const bool is_asked =
                whole_id(gpu.id) == whole.id &&
                (is_among(request.gpus, whole.id) || is_among(request.gpus, gpu.id));
            for (const auto& api : kApis) {
                if (!is_asked || !computes(api) || !is_among(request.apis, api.word) ||
                    !may_compute(gpu, api))
                    continue;
                const auto& driver = gpu.apis.at(std::string{api.word}).driver;
                add(target_for(queries, api.word, driver, key_of(gpu, api.word), request.stage),
                    &whole);
            }
        }
    if (!request.gpus.empty())
        return targets;
    for (const auto& software : report.software)
        if (runs_kernels(software.api) && is_among(request.apis, software.api))
            add(target_for(queries, software.api, software.driver, key_of(software.device),
                           request.stage),
                nullptr);
    if (is_among(request.apis, kCpuApi))
        add(ProbeTarget{.api = std::string{kCpuApi}, .stage = request.stage, .device = kCpuDevice},
            nullptr);
    return targets;
}

bool runs_kernels(std::string_view api) {
    const auto* known = find_api(api);
    return known && !known->backend.empty();
}

namespace {

/// Source: random(4).
constexpr std::string_view kBootId = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kMaxNote = 512;

/// The harm that the driver did, according to the probe's result; nullopt if it did none.
std::optional<Harm> harm_of(const ProbeResult& probe) {
    if (probe.outcome == Outcome::Crashed)
        return Harm::Crashed;
    if (probe.outcome == Outcome::TimedOut)
        return Harm::TimedOut;
    return std::nullopt;
}

/// Whether the probe loads a vendor's driver or opens a node, whose kernel driver may start
/// firmware. Probes that only read the kernel's files or use libpci can't crash anything and are
/// not recorded.
bool loads_driver(const ProbeTarget& target) {
    const auto* api = find_api(target.api);
    return !api || api->wakes || has_own_nodes(target.api);
}

/// Whether the result shows that the driver did no harm. If a worker ended without a result, its
/// driver might still do harm.
bool is_harmless(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
}

/// The result for a target in quarantine, with all details that the report shows.
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

/// The key contains the driver's fingerprint, so that an updated driver isn't in quarantine.
store::ProbeKey ProbeLedger::key_of(const ProbeTarget& target) const {
    // The linker's cache is included because a manifest may name a library without its folder.
    std::vector<std::string> watched{std::string{kLinkerCache}};
    std::ranges::move(paths_of_driver(target, machine_.host), std::back_inserter(watched));
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

/// Writes the file once for all targets, before any target can do harm.
void ProbeLedger::begin(const std::vector<ProbeTarget>& targets) {
    std::vector<store::ProbeKey> keys;
    for (const auto& target : targets) {
        if (!loads_driver(target))
            continue;
        auto& key = running_[target];
        quarantine_.ended(key);  // the key differs if the driver was replaced
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
    // The probe may have begun before the scan found all devices, and therefore with another key.
    if (found != running_.end() && found->second != key_of(target))
        begin({target});
}

/// Records harm, or clears the driver. Returns whether the driver did harm but isn't in quarantine
/// yet.
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

/// Once a round has ended, the next probes aren't the first since boot.
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
    // A filter must contain either `all` or other keys, but not both.
    if (is_all == (filter.api || filter.driver))
        return filter_at_fault("all", is_all ? "cannot be combined with other keys"
                                             : "missing; all, api or driver is required");
    return filter;
}

}  // namespace gpuprobe::engine
