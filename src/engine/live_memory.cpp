// SPDX-License-Identifier: Apache-2.0
#include "engine/live_memory.h"

#include <algorithm>
#include <iterator>

#include "engine/probe_targets.h"
#include "inventory/amdgpu.h"
#include "inventory/driver_files.h"
#include "inventory/scan.h"
#include "report/api_table.h"
#include "report/assemble.h"
#include "report/compute_view.h"
#include "report/fact_key.h"

namespace gpuprobe::engine {
namespace {

constexpr std::string_view kAmdgpu = "amdgpu-sysfs";
bool is_same(const MemoryReading& left, const MemoryReading& right) {
    return left.source == right.source && left.what == right.what;
}

/// Updates amdgpu's readings in place, because earlier readings take precedence. Removes readings
/// that no longer exist.
void refresh_amdgpu(const Sysfs& sysfs, HardwareDevice& device) {
    const auto fresh = amdgpu_memory(sysfs, device);
    std::erase_if(device.memory, [&fresh](MemoryReading& reading) {
        if (reading.source != kAmdgpu)
            return false;
        const auto now = std::ranges::find_if(
            fresh, [&reading](const MemoryReading& other) { return is_same(reading, other); });
        if (now != fresh.end())
            reading.bytes = now->bytes;
        return now == fresh.end();
    });
}

/// Whether `source` has reported the value `what`.
bool has_reading(const GpuMemory& memory, std::string_view source, std::string_view what) {
    return std::ranges::any_of(memory.evidence, [&](const MemoryReading& reading) {
        return reading.source == source && reading.what == what;
    });
}

/// Whether the API `api` has reported the GPU's free memory.
bool has_reported_free(const Gpu& gpu, std::string_view api) {
    const auto view = gpu.apis.find(std::string{api});
    return view != gpu.apis.end() && view->second.outcome == Outcome::Answered &&
           free_memory(view->second.device).has_value();
}

/// Whether the target is the query that the API's view is based on.
bool serves(const ProbeTarget& target, const ApiView& view) {
    return target.stage == "query" && (target.driver.empty() || target.driver == view.driver);
}

/// The GPU or partition as a new report would show it. Only the code that assembles reports chooses
/// between several readings. nullopt if the GPU or partition no longer exists.
std::optional<Gpu> assembled(const LiveMemoryReader::Question& question,
                             const std::vector<ProbeResult>& probes,
                             WallTime now) {
    const auto report = assemble(question.machine, probes, ReportContext{.now = now});
    const ComputeView view{report};
    for (const auto* gpus : {&report.gpus, &view.report().gpus})
        if (const auto found = std::ranges::find(*gpus, question.gpu.id, &Gpu::id);
            found != gpus->end())
            return *found;
    return std::nullopt;
}

/// Whether the free memory is from this probe. A partition does not record the time of its reading,
/// so the view of the API is checked instead.
bool is_reported_by(const ProbeResult& probe, const Gpu& fresh) {
    if (!fresh.memory.free)
        return false;
    return partition_of(fresh) ? has_reported_free(fresh, probe.api)
                               : fresh.memory.free_at == probe.at;
}

/// Returns `probes` with the older result of the same probe replaced by `probe`.
std::vector<ProbeResult> with(std::vector<ProbeResult> probes, const ProbeResult& probe) {
    std::erase_if(probes, [&probe](const ProbeResult& other) {
        return other.api == probe.api && other.driver == probe.driver && other.stage == probe.stage;
    });
    probes.push_back(probe);
    return probes;
}

/// The kernel's source of free memory, for memory assembled from fresh readings; nullopt if the
/// kernel does not report it. Unified memory belongs to the host, so its source is meminfo.
std::optional<std::string> kernel_source(const GpuMemory& memory) {
    if (!memory.free)
        return std::nullopt;
    if (memory.kind == MemoryKind::Unified)
        return has_reading(memory, "meminfo", "host-available") ? std::optional{"meminfo"}
                                                                : std::nullopt;
    const bool is_counted =
        has_reading(memory, kAmdgpu, "total") && has_reading(memory, kAmdgpu, "used");
    return is_counted ? std::optional{std::string{kAmdgpu}} : std::nullopt;
}

/// The probes that have reported this GPU's free memory before and can be run again, most trusted
/// first. CUDA is left out, because a CUDA context would use memory itself.
std::vector<ProbeTarget> memory_targets(const Gpu& gpu, const std::vector<ProbeTarget>& targets) {
    std::vector<ProbeTarget> serving;
    for (const auto* api : by_trust(&ApiTrust::free)) {
        if (api->id == Api::Cuda || !has_reported_free(gpu, api->word))
            continue;
        const auto& view = gpu.apis.at(std::string{api->word});
        std::ranges::copy_if(targets, std::back_inserter(serving), [&](const ProbeTarget& target) {
            return target.api == api->word && serves(target, view);
        });
    }
    return serving;
}

}  // namespace

LiveMemory last_known(const GpuMemory& memory) {
    return LiveMemory{.kind = memory.kind,
                      .physical = memory.physical,
                      .allocatable = memory.allocatable,
                      .free = memory.free,
                      .free_at = memory.free_at,
                      .evidence = memory.evidence};
}

void refresh_power(const FileSystem& files, Machine& machine) {
    for (auto& device : machine.devices)
        device.runtime_status = files.line(device.sysfs_path + "/power/runtime_status");
    for (auto& device : machine.devices)
        read_sensors(files, device);
}

bool refresh_slowdowns(const FileSystem& files, WallTime now, Machine& machine) {
    bool is_reported = false;
    for (auto& device : machine.devices) {
        // Skip devices that have never reported slowdowns, but clear the value of devices that no
        // longer report them.
        const auto words = slowdowns_of(files, device);
        if (!words && !device.sensed_at)
            continue;
        device.extra[kernel_facts::kSlowdowns.name] = to_value(words);
        device.sensed_at = words ? std::optional{now} : std::nullopt;
        is_reported = true;
    }
    return is_reported;
}

void refresh_accelerators(const FileSystem& files, Report& report) {
    // Scan the hardware again, without device nodes and host, and copy only the values about power.
    if (report.accelerators.empty())
        return;
    const auto fresh =
        assemble(scan_machine(files, RecordedNodes{}, Host{}), {}, ReportContext{}).accelerators;
    for (auto& accelerator : report.accelerators) {
        const auto found = std::ranges::find(fresh, accelerator.id, &Accelerator::id);
        accelerator.power = found == fresh.end() ? AcceleratorPower{} : found->power;
    }
}

void refresh_readings(const FileSystem& files, Machine& machine) {
    machine.host.memory = host_memory(files);
    refresh_power(files, machine);
    std::vector<std::string> notes;
    const Sysfs sysfs{files, notes};
    for (auto& device : machine.devices)
        refresh_amdgpu(sysfs, device);
}

LiveMemoryReader::LiveMemoryReader(const FileSystem& files, const Clock& clock, Start start)
    : files_{files}, clock_{clock}, start_{std::move(start)} {}

/// The values from the report, or the last read values if these are newer. If the sizes differ, the
/// id now belongs to another GPU, and the report's values are used.
LiveMemory LiveMemoryReader::best_known(const Gpu& gpu) const {
    auto known = last_known(gpu.memory);
    const auto read = last_.find(gpu.id);
    if (read == last_.end() || read->second.free_at <= known.free_at ||
        read->second.physical != known.physical || read->second.allocatable != known.allocatable)
        return known;
    known.free = read->second.free;
    known.free_at = read->second.free_at;
    known.evidence = read->second.evidence;
    return known;
}

/// Stores the values for best_known().
LiveMemory LiveMemoryReader::kept(const std::string& id,
                                  const GpuMemory& memory,
                                  std::string source) {
    auto read = last_known(memory);
    read.source = std::move(source);
    last_.insert_or_assign(id, read);
    return read;
}

/// There are three sources, best first: the kernel's files, a probe, the last known values.
Status LiveMemoryReader::read(Question question, Reply reply) {
    refresh_readings(files_, question.machine);
    if (const auto fresh = assembled(question, question.probes, clock_.wall()))
        if (auto source = kernel_source(fresh->memory)) {
            reply(kept(fresh->id, fresh->memory, std::move(*source)));
            return Done{};
        }
    auto known = best_known(question.gpu);
    for (const auto& target : memory_targets(question.gpu, question.targets)) {
        // Use the first probe that would not wake a device.
        const auto sleeper =
            question.allow_wake ? std::nullopt : sleeper_woken_by(target, question.machine);
        if (!sleeper)
            return wait(target, std::move(question), std::move(reply));
        if (known.reasons.empty())
            known.reasons = skipped_asleep(target, *sleeper).reasons;
    }
    reply(known);
    return Done{};
}

/// Joins the probe if it is already running, or starts the probe.
Status LiveMemoryReader::wait(const ProbeTarget& target, Question question, Reply reply) {
    const auto [place, is_first] = waiting_.try_emplace(target);
    std::size_t count = 0;
    for (const auto& [gpu, waiters] : place->second)
        count += waiters.replies.size();
    if (count >= kMaxWaiting)
        return Error{ErrorCode::TooManyRequests, "memory: too many calls wait for " + target.api};
    auto& waiters = place->second[question.gpu.id];
    if (waiters.replies.empty())
        waiters.question = std::move(question);
    waiters.replies.push_back(std::move(reply));
    if (is_first)
        start_(target, [this, target](const ProbeResult& probe) { probed(target, probe); });
    return Done{};
}

void LiveMemoryReader::probed(const ProbeTarget& target, const ProbeResult& probe) {
    // Remove the waiters first, because a reply may call read() again.
    const auto asked = waiting_.extract(target);
    if (asked.empty())
        return;
    for (const auto& [gpu, waiters] : asked.mapped()) {
        const auto memory = memory_after(probe, waiters.question);
        for (const auto& reply : waiters.replies)
            reply(memory);
    }
}

/// If the probe did not report this GPU's free memory, the reply contains the last known values and
/// the reasons.
LiveMemory LiveMemoryReader::memory_after(const ProbeResult& probe, const Question& question) {
    auto fresh = assembled(question, with(question.probes, probe), clock_.wall());
    if (fresh && is_reported_by(probe, *fresh)) {
        // The value is as old as the probe, also for a partition.
        fresh->memory.free_at = probe.at;
        return kept(fresh->id, fresh->memory, probe.api);
    }
    auto known = best_known(question.gpu);
    if (fresh)
        if (const auto view = fresh->apis.find(probe.api); view != fresh->apis.end())
            known.reasons = view->second.reasons;
    return known;
}

}  // namespace gpuprobe::engine
