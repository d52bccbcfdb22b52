// SPDX-License-Identifier: Apache-2.0
#include "engine/trials.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "inventory/driver_files.h"
#include "report/fact_key.h"
#include "report/trial_results.h"
#include "report/trials.h"

namespace gpuprobe::engine {
namespace {

constexpr const char* kSupplies = "/sys/class/power_supply";

/// Whether the power supply is a battery that is discharging and belongs to the machine itself (not
/// to a mouse, for instance).
bool is_discharging(const FileSystem& files, const std::string& supply) {
    return files.line(supply + "/type").value_or("") == "Battery" &&
           files.line(supply + "/scope").value_or("") != "Device" &&
           files.line(supply + "/status").value_or("") == "Discharging";
}

/// Whether the power supply is a charger that is plugged in. If the charger is too weak, the
/// battery may still discharge.
bool gives_power(const FileSystem& files, const std::string& supply) {
    const auto type = files.line(supply + "/type").value_or("");
    return (type == "Mains" || type == "USB") && files.line(supply + "/online").value_or("") == "1";
}

/// Whether any battery discharges and no charger is plugged in.
bool is_on_battery(const FileSystem& files) {
    const auto names = files.list(kSupplies);
    if (!names)
        return false;
    const auto any = [&](bool (*holds)(const FileSystem&, const std::string&)) {
        return std::ranges::any_of(
            *names, [&](const auto& name) { return holds(files, kSupplies + ("/" + name)); });
    };
    return any(is_discharging) && !any(gives_power);
}

struct Load {
    std::uint64_t percent = 0;
    const char* source = "";
};

/// The load of a GPU from the best source: amdgpu's file (AMD), otherwise NVML's last report
/// (NVIDIA), otherwise the idle counters (Intel).
std::optional<Load> load_of(const FileSystem& files,
                            const Machine& machine,
                            const Gpu& gpu,
                            const IdleMeter& meter,
                            MonotonicTime now) {
    const auto device = std::ranges::find(machine.devices, gpu.id, &HardwareDevice::id);
    if (device != machine.devices.end()) {
        const auto line = files.line(device->sysfs_path + "/gpu_busy_percent");
        const auto percent = line ? parse_number<std::uint64_t>(*line) : std::nullopt;
        if (percent)
            return Load{.percent = *percent, .source = "amdgpu-sysfs"};
    }
    const auto nvml = gpu.apis.find("nvml");
    const auto reported =
        nvml == gpu.apis.end() ? std::nullopt : fact(nvml->second.device, facts::kGpuUtilization);
    if (reported)
        return Load{.percent = *reported, .source = "nvml"};
    const auto awake = meter.percent(files, gpu.id, now);
    return awake ? std::optional{Load{.percent = *awake, .source = "idle-residency"}}
                 : std::nullopt;
}

/// Paths of the idle counters of a GPU, which differ between i915 (under /drm/) and xe. If a part
/// can't sleep because RC6 is disabled, its counter is meaningless.
std::vector<std::string> counters_of(const FileSystem& files, const std::string& device) {
    std::vector<std::string> counters;
    for (const auto& part : intel_parts(files, device))
        if (part.find("/drm/") == std::string::npos)
            counters.push_back(part + "/gtidle/idle_residency_ms");
        else if (files.line(part + "/rc6_enable").value_or("1") != "0")
            counters.push_back(part + "/rc6_residency_ms");
    return counters;
}

std::optional<std::uint64_t> counted(const FileSystem& files, const std::string& counter) {
    const auto line = files.line(counter);
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

}  // namespace

std::optional<Reason> obstacle_on_host(const FileSystem& files) {
    return is_on_battery(files) ? std::optional{because("on-battery")} : std::nullopt;
}

std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now) {
    const auto load = load_of(files, machine, gpu, meter, now);
    if (load && load->percent > kBusyPercent)
        return because("busy", {{"percent", to_value(load->percent)}, {"source", load->source}});
    if (gpu.memory.free && *gpu.memory.free < kLeastFree)
        return because("not-enough-memory",
                       {{"free", to_value(*gpu.memory.free)}, {"need", to_value(kLeastFree)}});
    return std::nullopt;
}

void IdleMeter::look(const FileSystem& files, const Machine& machine, MonotonicTime now) {
    seen_.clear();
    looked_ = now;
    for (const auto& device : machine.devices) {
        // Only Intel's drivers have these counters.
        const bool sleeps =
            device.runtime_status == "suspended" || device.runtime_status == "suspending";
        if (device.vendor_id != "8086" || sleeps)
            continue;
        for (const auto& counter : counters_of(files, device.sysfs_path))
            if (const auto slept = counted(files, counter))
                seen_[device.id][counter] = *slept;
    }
}

std::optional<std::uint64_t> IdleMeter::percent(const FileSystem& files,
                                                const std::string& device,
                                                MonotonicTime now) const {
    const auto seen = seen_.find(device);
    if (seen == seen_.end() || now - looked_ < kShortest)
        return std::nullopt;
    const auto passed = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - looked_).count());
    // The part of the GPU that was asleep for the shortest time determines the load.
    std::optional<std::uint64_t> most;
    for (const auto& [counter, before] : seen->second) {
        const auto after = counted(files, counter);
        if (!after || *after < before)  // the counter was reset
            continue;
        // The counter may run slightly ahead of our clock, so limit its value to the time that has
        // passed.
        const auto slept = std::min(*after - before, passed);
        most = std::max(most.value_or(0), 100 * (passed - slept) / passed);
    }
    return most;
}

namespace {

/// NVML averages the load over one second. Each reading is assumed to be valid for one second, too.
constexpr Duration kLoadHolds = std::chrono::seconds{1};

bool reports_load(const ProbeTarget& target) {
    return target.api == "nvml";
}

bool is_measured(const ProbeTarget& target) {
    return target.stage == kMeasureStage;
}

}  // namespace

void TrialQueue::add(const std::vector<ProbeTarget>& targets, ProbeWaiter waiter) {
    for (const auto& target : targets) {
        const bool is_known =
            running_.contains(target) || std::ranges::find(waiting_, target) != waiting_.end();
        if (!is_known)
            waiting_.push_back(target);
    }
    waiters_.push_back({.waiter = std::move(waiter),
                        .left = {targets.begin(), targets.end()},
                        .total = targets.size()});
}

/// Verifications may run together; a measurement must run alone.
bool TrialQueue::may_start(const ProbeTarget& target) const {
    if (running_.empty())
        return true;
    return !is_measured(target) && std::ranges::none_of(running_, is_measured);
}

const ProbeTarget* TrialQueue::next() const {
    return !waiting_.empty() && may_start(waiting_.front()) ? &waiting_.front() : nullptr;
}

std::vector<ProbeTarget> TrialQueue::take_startable() {
    std::vector<ProbeTarget> startable;
    // Take targets only from the front of the queue, so that verifications never overtake a waiting
    // measurement.
    while (!waiting_.empty() && may_start(waiting_.front())) {
        startable.push_back(waiting_.front());
        running_.insert(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    return startable;
}

std::vector<ProbeWaiter> TrialQueue::finish(const ProbeTarget& target) {
    running_.erase(target);
    std::vector<ProbeWaiter> over;
    // Several callers may wait for the same target.
    for (auto& [waiter, left, total] : waiters_) {
        if (left.erase(target) == 0)
            continue;
        if (waiter.progress)
            waiter.progress(1 - static_cast<double>(left.size()) / static_cast<double>(total));
        if (left.empty() && waiter.done)
            over.push_back(std::move(waiter));
    }
    std::erase_if(waiters_, [](const Waiting& waiting) { return waiting.left.empty(); });
    return over;
}

LoadCheck::LoadCheck(const EngineContext& context, Queries& queries, std::function<void()> known)
    : context_{context}, queries_{queries}, known_{std::move(known)} {}

/// IdleMeter needs some time between look() and its first result.
void LoadCheck::start() {
    const auto now = context_.clock.monotonic();
    idle_meter_.look(context_.machine.files(), context_.machine.hardware, now);
    asked_at_ = now;
    metering_ = context_.loop.after(IdleMeter::kShortest, [this] { metered(); });
}

void LoadCheck::metered() {
    metering_.reset();
    known_();
}

bool LoadCheck::must_wait_for(const Gpu& gpu) {
    // A GPU that our own measurement keeps busy need not wait. Other GPUs wait while the idle meter
    // is running, or if NVML's last reading is too old.
    if (gpu.id == measured_)
        return false;
    if (metering_ && idle_meter_.watches(gpu.id))
        return true;
    const auto now = context_.clock.monotonic();
    if (!gpu.apis.contains("nvml") || (asked_at_ && now - *asked_at_ < kLoadHolds))
        return false;
    asked_at_ = now;
    queries_.start(reports_load, false);
    if (!queries_.running())  // NVML was skipped, so there will be no newer reading
        return false;
    is_asking_ = true;
    queries_.wait({.done = [this] {
        is_asking_ = false;
        known_();
    }});
    return true;
}

/// Checks the host first. The GPU's load is ignored during our own measurement.
std::optional<Reason> LoadCheck::obstacle(const Gpu* gpu) const {
    const auto& machine = context_.machine;
    if (auto obstacle = obstacle_on_host(machine.files()))
        return obstacle;
    if (!gpu || gpu->id == measured_)
        return std::nullopt;
    return obstacle_on_gpu(machine.files(), machine.hardware, *gpu, idle_meter_,
                           context_.clock.monotonic());
}

TrialRunner::TrialRunner(const EngineContext& context, Queries& queries, Publisher& publisher)
    : context_{context}, queries_{queries}, publisher_{publisher}, load_{context, queries, [this] {
                                                                             start_next();
                                                                         }} {}

void TrialRunner::prepare(const ProbeRequest& request, bool are_queried) {
    if (request.stage != kMeasureStage)
        return;
    if (!are_queried)
        queries_.start(reports_load, request.allow_wake);
    if (!request.force)
        load_.start();
}

/// The result that a target gets if it may not start now; nullopt if it may start.
std::optional<ProbeResult> TrialRunner::obstacle(const ProbeTarget& target, const Job& job) const {
    const auto sleeper = sleeper_woken_by(target, context_.machine.hardware);
    if (sleeper && !job.may_wake)
        return skipped_asleep(target, *sleeper);
    // A sleeping GPU that may be woken is idle, so its load need not be checked.
    if (!is_measured(target) || job.is_forced || sleeper)
        return std::nullopt;
    if (auto reason = load_.obstacle(gpu_of(job)))
        return skipped(target, reason->code, *reason);
    return std::nullopt;
}

/// Targets that can't run immediately get a result with the reason; the waiter waits only for the
/// other targets.
void TrialRunner::begin(const ProbeRequest& request, const ProbeWaiter& waiter) {
    auto& machine = context_.machine;
    if (!machine.is_replay())
        machine.refresh_power();
    if (queue_.empty())
        load_.measures_none();
    std::vector<ProbeTarget> due;
    for (const auto& [target, gpu] :
         trial_targets(publisher_.report(), machine.search.targets, request)) {
        const Job job{
            .gpu = gpu ? gpu->id : "", .may_wake = request.allow_wake, .is_forced = request.force};
        auto instead = context_.ledger.instead_of(target);
        if (!instead)
            instead = obstacle(target, job);
        if (instead) {
            fingerprints_[target] = fingerprint_of(target);
            machine.results.keep(std::move(*instead));
        } else {
            enqueue(target, job);
            due.push_back(target);
        }
    }
    if (!due.empty()) {
        queue_.add(due, waiter);
        start_next();
    }
    publisher_.publish();
    if (due.empty() && waiter.done)
        waiter.done();
}

/// If two requests have the same target, the target gets the permissions from both requests.
void TrialRunner::enqueue(const ProbeTarget& target, const Job& job) {
    auto& known = jobs_[target];
    known.gpu = job.gpu;
    known.may_wake |= job.may_wake;
    known.is_forced |= job.is_forced;
}

TrialRunner::Job TrialRunner::job_of(const ProbeTarget& target) const {
    const auto found = jobs_.find(target);
    return found == jobs_.end() ? Job{} : found->second;
}

const Gpu* TrialRunner::gpu_of(const Job& job) const {
    return find_gpu(publisher_.report(), job.gpu);
}

/// Unlike begin(), this function records no result for targets with an obstacle, so that a later
/// round tries them again.
void TrialRunner::verify_in_background() {
    const auto& machine = context_.machine;
    if (machine.is_replay())
        return;
    const ProbeRequest request{.stage = std::string{kVerifyStage}};
    std::vector<ProbeTarget> due;
    for (const auto& [target, gpu] :
         trial_targets(publisher_.report(), machine.search.targets, request))
        if (gpu && !machine.results.find(target) && !context_.ledger.instead_of(target) &&
            !obstacle(target, Job{}))
            due.push_back(target);
    if (due.empty())
        return;
    queue_.add(due, {});
    start_next();
}

/// Whether the next target has to wait until its GPU's load is known. Only the first measurement of
/// a GPU needs the load, because the following measurements would see the load that they cause
/// themselves.
bool TrialRunner::must_learn_load() {
    const auto* next = queue_.next();
    if (!next || !is_measured(*next))
        return false;
    const auto job = job_of(*next);
    const auto* gpu = gpu_of(job);
    return gpu && !job.is_forced && load_.must_wait_for(*gpu);
}

/// Checks for obstacles once more, because while a target waited in the queue, its GPU may have
/// fallen asleep or other programs may have started to use it.
void TrialRunner::start_next() {
    if (context_.sleep.is_near() || load_.is_asking() || must_learn_load())
        return;
    context_.machine.refresh_power();
    std::vector<ProbeTarget> due;
    std::vector<std::pair<ProbeTarget, ProbeResult>> not_started;
    for (const auto& target : queue_.take_startable()) {
        fingerprints_[target] = fingerprint_of(target);
        if (auto instead = obstacle(target, job_of(target)))
            not_started.emplace_back(target, std::move(*instead));
        else
            due.push_back(target);
    }
    context_.ledger.begin(due);
    for (const auto& target : due)
        start(target);
    // Call ended() last, because it starts the next targets.
    for (auto& [target, instead] : not_started)
        ended(target, std::move(instead));
}

void TrialRunner::start(const ProbeTarget& target) {
    auto& job = jobs_[target];
    // Waking the GPU takes time, but the GPU is awake when a target is tried again.
    const bool is_slow = std::exchange(job.may_wake, false) || context_.ledger.is_cold();
    if (const auto* gpu = is_measured(target) ? gpu_of(job) : nullptr)
        load_.measures(*gpu);
    context_.supervisor.start(
        target, [this, target](ProbeResult probe) { ended(target, std::move(probe)); },
        is_slow ? Patience::Double : Patience::Usual);
}

/// If the device or driver has changed during the trial, the result is dropped, because it belongs
/// neither to the old nor to the new state.
void TrialRunner::ended(const ProbeTarget& target, ProbeResult probe) {
    const bool is_current = is_as_tested(target);
    if (context_.ledger.should_retry(target, probe) && is_current && !context_.sleep.is_near())
        return start(target);
    if (is_current)
        keep(target, std::move(probe));
    jobs_.erase(target);
    // Take the target out of the queue before start_next(), and call waiters only at the end, when
    // the report has the result.
    const auto over = queue_.finish(target);
    if (is_current)
        context_.ledger.remove_ended();
    else
        // The device that may have done harm no longer exists.
        context_.ledger.settle(all_running());
    start_next();
    if (over.empty() && !queue_.empty())
        return publisher_.publish_soon();  // more results will follow
    publisher_.publish();
    publisher_.save_cache(worth_caching());
    for (const auto& waiter : over)
        waiter.done();
}

/// Stores the result of a trial. The check with which a measurement begins becomes the result of
/// the stage "verify", so that it outlives later measurements.
void TrialRunner::keep(const ProbeTarget& target, ProbeResult probe) {
    auto& results = context_.machine.results;
    if (auto check = take_check(probe)) {
        auto verified = target;
        verified.stage = kVerifyStage;
        fingerprints_[verified] = fingerprints_[target];
        results.keep(std::move(*check));
    }
    results.keep(std::move(probe));
}

std::set<ProbeTarget> TrialRunner::all_running() const {
    auto all = queries_.running_targets();
    all.insert(running().begin(), running().end());
    return all;
}

std::string TrialRunner::fingerprint_of(const ProbeTarget& target) const {
    return engine::fingerprint_of(target, context_.machine.hardware, context_.machine.files());
}

/// Whether the device and its driver are still the same as when the trial started.
bool TrialRunner::is_as_tested(const ProbeTarget& target) const {
    const auto known = fingerprints_.find(target);
    return known != fingerprints_.end() && known->second == fingerprint_of(target);
}

void TrialRunner::machine_changed() {
    std::erase_if(fingerprints_, [this](const auto& entry) {
        const auto& [target, fingerprint] = entry;
        // A running target is checked when it ends.
        if (running().contains(target) || fingerprint == fingerprint_of(target))
            return false;
        context_.machine.results.forget(target);
        return true;
    });
}

/// The target to which a result belongs; nullopt if the driver of this target no longer exists.
std::optional<ProbeTarget> TrialRunner::target_of(const ProbeResult& probe) const {
    // The processor needs no driver, so the search for drivers does not list it.
    const auto& targets = context_.machine.search.targets;
    const auto offered = std::ranges::find_if(targets, [&probe](const auto& target) {
        return target.api == probe.api && target.driver == probe.driver;
    });
    if (offered == targets.end() && probe.api != kCpuApi)
        return std::nullopt;
    auto target = offered == targets.end() ? ProbeTarget{.api = probe.api} : *offered;
    target.stage = probe.stage;
    target.device = probe.device;
    return target;
}

/// Each cached trial has its own fingerprint, which must still match.
void TrialRunner::take_cached(std::vector<store::CachedTrial> cached) {
    for (auto& [fingerprint, probe] : cached) {
        const auto target = target_of(probe);
        if (probe.stage == kQueryStage || !target || fingerprint != fingerprint_of(*target))
            continue;
        fingerprints_[*target] = std::move(fingerprint);
        context_.machine.results.keep(std::move(probe));
    }
}

store::CachedProbes TrialRunner::worth_caching() const {
    store::CachedProbes worth;
    for (auto& probe : context_.machine.results.worth_caching(publisher_.report())) {
        if (probe.stage == kQueryStage) {
            worth.queries.push_back(std::move(probe));
            continue;
        }
        const auto target = target_of(probe);
        const auto known = target ? fingerprints_.find(*target) : fingerprints_.end();
        if (known != fingerprints_.end())
            worth.trials.push_back({.fingerprint = known->second, .probe = std::move(probe)});
    }
    return worth;
}

}  // namespace gpuprobe::engine
