// SPDX-License-Identifier: Apache-2.0
#include "engine/probed_machine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/sha256.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/live_memory.h"
#include "engine/probe_targets.h"
#include "inventory/host.h"
#include "report/fact_key.h"
#include "report/gpu_views.h"
#include "report/trials.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {
namespace {

/// Drops the memory of a software device: pocl reports the host's free memory as the total.
void drop_host_memory(Value& device) {
    if (auto* memory = device.find("memory"))
        *memory = Value{};
}

void drop_free_memory(GpuMemory& memory) {
    memory.free.reset();
    memory.free_at.reset();
    std::erase_if(memory.evidence, [](const MemoryReading& reading) {
        return reading.what.find("free") != std::string::npos ||
               reading.what.find("used") != std::string::npos;
    });
}

/// Drops the times and durations of a verification and a measurement.
template <class Holder>
void drop_instants(Holder& holder) {
    if (holder.verification)
        holder.verification->at.reset();
    if (holder.measurement) {
        holder.measurement->at.reset();
        holder.measurement->duration.reset();
    }
}

constexpr int kTrustedAfter = 3;  ///< number of results in a row that must agree

/// Whether the result is complete and can be compared with others.
bool is_whole(const ProbeResult& result) {
    return result.stage == kQueryStage &&
           (result.outcome == Outcome::Answered || result.outcome == Outcome::Absent);
}

/// A hash of the stable part of a result. Whole results aren't kept, because their size may be
/// megabytes.
std::string digest_of(const ProbeResult& result) {
    return sha256_of(json_line(stable_part(result)));
}

/// The size of a result, for comparisons: the number of devices, and the total size of their memory
/// in bytes.
std::tuple<std::size_t, std::uint64_t> promise_of(const ProbeResult& result) {
    std::uint64_t bytes = 0;
    for (const auto& device : result.devices)
        if (device.memory && device.memory->total)
            bytes += device.memory->total->count;
    return {result.devices.size(), bytes};
}

/// The reason kUnstable of the result; nullopt if the result does not have this reason.
std::optional<Reason> instability_of(const ProbeResult* result) {
    if (!result)
        return std::nullopt;
    const auto found = std::ranges::find_if(
        result->reasons, [](const Reason& reason) { return reason.is(kUnstable); });
    return found == result->reasons.end() ? std::nullopt : std::optional{*found};
}

/// The smaller of two results. If the accepted result is incomplete, it is ignored.
ProbeResult lesser_of(const ProbeResult* accepted, ProbeResult result) {
    return accepted && is_whole(*accepted) && promise_of(*accepted) < promise_of(result)
               ? *accepted
               : std::move(result);
}

Reason unstable_since(const ProbeResult& result) {
    return because(kUnstable, {{"driver", result.driver}, {"since_usec", to_value(result.at)}});
}

/// The result, with any earlier kUnstable reason replaced by `instability`.
ProbeResult with(ProbeResult result, Reason instability) {
    std::erase_if(result.reasons, [](const Reason& reason) { return reason.is(kUnstable); });
    result.reasons.push_back(std::move(instability));
    return result;
}

/// The key of a result or target.
template <class Probe>
auto key_of(const Probe& probe) {
    return std::tuple{probe.api, probe.driver, probe.stage, probe.device};
}

bool went_badly(const ProbeResult& probe) {
    return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut ||
           has_reason_with(probe.reasons, ReasonTraits::Unreliable);
}

/// Whether a result may be cached. The result of a failed probe isn't cached, so that the next
/// start repeats the probe.
bool may_be_cached(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
}

/// Whether the result is doubtful because a GPU that has a kernel driver is missing from it.
bool is_inconclusive(const ProbeResult& probe, const Report& report) {
    const auto blames = [&probe](const Reason& reason) {
        const auto* driver = reason.detail.at("driver").as_string();
        return reason.is("inconclusive") && driver && *driver == probe.driver;
    };
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        const auto view = gpu.apis.find(probe.api);
        return view != gpu.apis.end() && std::ranges::any_of(view->second.reasons, blames);
    });
}

}  // namespace

/// Drops all values that may change while the machine stays the same.
Report stable_part(Report report) {
    report.generation = 0;
    report.created.reset();
    report.source = ReportSource::Live;
    report.host.memory.available.reset();
    for (auto& probe : report.probes) {
        probe.duration.reset();
        probe.output.reset();
        if (probe.exit_code == 0)
            probe.exit_code.reset();  // an answer may arrive before the process has ended
    }
    for (auto& gpu : report.gpus) {
        for (auto& partition : gpu.partitions)
            if (partition.memory)
                partition.memory->free.reset();
        drop_free_memory(gpu.memory);
        gpu.power = {};  // a GPU that falls asleep does not cause a new generation
        for (auto& [api, view] : gpu.apis) {
            view.age.reset();
            forget_the_moment(view.device);
        }
        for (auto& [name, view] : gpu.backends)
            drop_instants(view);
    }
    for (auto& accelerator : report.accelerators)
        accelerator.power = {.limit = accelerator.power.limit};
    drop_instants(report.host.cpu);
    for (auto& software : report.software) {
        drop_host_memory(software.device);
        forget_the_moment(software.device);
        drop_instants(software);
    }
    return report;
}

Value stable_part(const ProbeResult& result) {
    Value lasting;
    lasting["outcome"] = to_value(result.outcome);
    lasting["runtime"] = result.runtime;
    for (const auto& facts : result.devices) {
        auto device = value_of(facts);
        if (facts.type == DeviceType::Cpu)
            drop_host_memory(device);
        forget_the_moment(device);
        lasting["devices"].push_back(std::move(device));
    }
    return lasting;
}

/// There are three cases: there is no earlier result; the driver is stable (accept the result, and
/// probe again after the first difference); the driver is unstable (accept the smaller result).
StabilityCheck::Verdict StabilityCheck::check(ProbeResult result, const ProbeResult* accepted) {
    if (!is_whole(result))
        return {.accepted = std::move(result)};
    const auto [place, is_first] = last_.try_emplace({result.api, result.driver});
    auto& last = place->second;
    auto previous = std::exchange(last.digest, digest_of(result));
    // The accepted result is from the cache, and its hash wasn't computed yet (see begin_with()).
    if (!is_first && previous.empty() && accepted && is_whole(*accepted))
        previous = digest_of(*accepted);
    if (previous.empty())
        return {.accepted = std::move(result)};
    const bool agrees = last.digest == previous;
    last.in_a_row = agrees ? last.in_a_row + 1 : 1;
    // The driver is unstable, because it was unstable before, or because this is the second
    // difference in a row.
    auto instability = instability_of(accepted);
    const bool was_doubted = std::exchange(last.is_doubted, !agrees);
    if (!instability && (agrees || !was_doubted))
        return {.accepted = std::move(result), .ask_again = !agrees};
    if (last.in_a_row >= kTrustedAfter)
        return {.accepted = std::move(result)};
    if (!instability)
        instability = unstable_since(result);
    return {.accepted = with(lesser_of(accepted, std::move(result)), *std::move(instability))};
}

void StabilityCheck::begin_with(const ProbeResult& result) {
    if (is_whole(result))
        last_.try_emplace({result.api, result.driver});
}

/// If the worker of a probe could not start or was killed, the cache keeps the earlier result of
/// this probe.
void ProbeResults::put(ProbeResult probe) {
    auto key = key_of(probe);
    if (was_never_heard(probe)) {
        remember_earlier(key);
    } else {
        earlier_.erase(key);
        outdated_.erase(key);
    }
    probes_.insert_or_assign(std::move(key), std::move(probe));
}

/// Keeps the current result of a probe, which is about to be replaced, unless that result is
/// outdated or a failure.
void ProbeResults::remember_earlier(const Key& key) {
    const auto known = probes_.find(key);
    const bool is_outdated = outdated_.contains(key);
    if (known != probes_.end() && may_be_cached(known->second) && !is_outdated)
        earlier_.insert_or_assign(key, std::move(known->second));
}

void ProbeResults::keep(ProbeResult probe) {
    const auto known = probes_.find(key_of(probe));
    const bool keeps_old = probe.outcome == Outcome::Skipped && known != probes_.end() &&
                           known->second.outcome == Outcome::Answered;
    if (!keeps_old)
        return put(std::move(probe));
    // The caller requested a new verification or measurement, and the new reasons explain why there
    // is no new result.
    if (probe.stage != kQueryStage)
        known->second.reasons = std::move(probe.reasons);
}

void ProbeResults::forget(const ProbeTarget& target) {
    probes_.erase(key_of(target));
    earlier_.erase(key_of(target));
}

void ProbeResults::machine_changed() {
    earlier_.clear();
    for (const auto& [key, probe] : probes_)
        outdated_.insert(key);
}

void ProbeResults::keep_only(const TargetSearch& search) {
    std::set<std::pair<std::string, std::string>> offered;
    for (const auto& target : search.targets)
        offered.emplace(target.api, target.driver);
    for (const auto& probe : search.unusable)
        offered.emplace(probe.api, probe.driver);
    offered.emplace(kCpuApi, "");
    std::erase_if(probes_, [&offered](const auto& entry) {
        return !offered.contains({entry.second.api, entry.second.driver});
    });
    // For a driver that can't be used, the search provides the result.
    for (const auto& probe : search.unusable)
        put(probe);
}

const ProbeResult* ProbeResults::find(const ProbeTarget& target) const {
    const auto known = probes_.find(key_of(target));
    return known == probes_.end() ? nullptr : &known->second;
}

std::vector<ProbeResult> ProbeResults::all() const {
    std::vector<ProbeResult> all;
    for (const auto& [key, probe] : probes_)
        all.push_back(probe);
    return all;
}

bool ProbeResults::any_went_badly() const {
    // A single lost worker may have been killed from outside. The loss of several workers at once
    // is a failure, because the report then lacks their results.
    const auto was_lost = [](const auto& entry) {
        return std::ranges::any_of(entry.second.reasons,
                                   [](const Reason& reason) { return reason.is("worker-lost"); });
    };
    return std::ranges::count_if(probes_, was_lost) > 1 ||
           std::ranges::any_of(probes_, [](const auto& entry) { return went_badly(entry.second); });
}

std::vector<ProbeResult> ProbeResults::worth_caching(const Report& report) const {
    std::vector<ProbeResult> worth;
    for (const auto& [key, probe] : probes_)
        if (may_be_cached(probe) && !is_inconclusive(probe, report))
            worth.push_back(probe);
    // Include only drivers that are still installed, because keep_only() does not change earlier_.
    for (const auto& [key, probe] : earlier_)
        if (probes_.contains(key))
            worth.push_back(probe);
    return worth;
}

namespace {

constexpr Bytes kMaxCaptureFile = mib(4);
constexpr std::size_t kMaxProbeFiles = 128;
constexpr std::size_t kMaxVariable = 64;

/// Reads a JSON file. The message of each error contains the path.
Result<Value> read_document(const FileSystem& files, const std::string& path) {
    const auto text = TRY(files.read(path, kMaxCaptureFile));
    auto document = parse_json(text, kMaxCaptureFile);
    if (!document)
        return std::move(document).error().in(path);
    return document;
}

/// Reads one probe result. API and driver are taken from the file's name if the document lacks
/// them; the file "vulkan.radeon_icd.json" is about the API vulkan and the driver radeon_icd.
Result<ProbeResult> read_probe(const FileSystem& files,
                               const std::string& name,
                               DriverVariables& variables) {
    const auto path = "/probes/" + name;
    const auto document = TRY(read_document(files, path));
    auto probe = probe_result_from(document);
    if (!probe)
        return std::move(probe).error().in(path);
    // Fill in only missing members, because the file name contains only the stem of a manifest's
    // name.
    const auto stem = name.substr(0, name.size() - std::string_view{".json"}.size());
    const auto dot = stem.find('.');
    if (probe->api.empty())
        probe->api = stem.substr(0, dot);
    if (probe->driver.empty() && dot != std::string::npos)
        probe->driver = stem.substr(dot + 1);
    if (const auto* variable = document.at("variable").as_string())
        variables[probe->driver] = scrubbed(*variable, kMaxVariable);
    return probe;
}

/// If the folder "probes" is missing, the capture has no probes. The number of files is limited,
/// because a capture may come from an untrusted source.
Result<std::vector<ProbeResult>> read_probes(const FileSystem& files, DriverVariables& variables) {
    std::vector<ProbeResult> probes;
    const auto names = files.list("/probes");
    if (!names && names.error().code == ErrorCode::NotFound)
        return probes;
    if (!names)
        return names.error();
    for (const auto& name : *names) {
        if (!name.ends_with(".json"))
            continue;
        if (probes.size() == kMaxProbeFiles)
            return Error{ErrorCode::TooLarge,
                         "/probes: over " + std::to_string(kMaxProbeFiles) + " files"};
        probes.push_back(TRY(read_probe(files, name, variables)));
    }
    return probes;
}

/// A capture without nodes.json has no nodes.
Result<std::shared_ptr<const NodeSource>> read_nodes(const FileSystem& files) {
    const auto text = files.read("/nodes.json", kMaxCaptureFile);
    if (!text && text.error().code == ErrorCode::NotFound)
        return std::shared_ptr<const NodeSource>{std::make_shared<RecordedNodes>()};
    if (!text)
        return text.error();
    auto nodes = RecordedNodes::parse(*text);
    if (!nodes)
        return std::move(nodes).error().in("/nodes.json");
    return std::shared_ptr<const NodeSource>{
        std::make_shared<RecordedNodes>(std::move(nodes).value())};
}

/// Returns the document with every string scrubbed.
Value clean(Value document) {
    if (const auto* text = document.as_string())
        return scrubbed(*text);
    if (auto* items = document.as_array())
        for (auto& item : *items)
            item = clean(std::move(item));
    if (auto* members = document.as_object())
        for (auto& member : *members)
            member.value = clean(std::move(member.value));
    return document;
}

/// Merges `over` into `base` recursively; members of `over` that are null are ignored. Members that
/// `base` lacks are dropped, because a malicious file may have a hundred thousand members.
Value overlaid(Value base, const Value& over) {
    const auto* members = over.as_object();
    if (!members)
        return over.is_null() ? base : clean(over);
    if (!base.is_object())
        return clean(over);
    for (const auto& member : *members)
        if (auto* known = base.find(member.key))
            *known = overlaid(std::move(*known), member.value);
    return base;
}

}  // namespace

Result<std::optional<Value>> captured_document(const FileSystem& capture, const std::string& path) {
    auto document = read_document(capture, path);
    if (!document && document.error().code == ErrorCode::NotFound)
        return std::optional<Value>{};
    return std::optional{clean(TRY(std::move(document)))};
}

Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root) {
    auto document = read_document(files, "/capture.json");
    if (!document && document.error().code == ErrorCode::NotFound)
        return Error{ErrorCode::NotFound, files.exists("/")
                                              ? "not a capture: capture.json is missing"
                                              : "folder does not exist"};
    const auto capture = TRY(std::move(document));
    if (capture.at("schema").as_int() != 1)
        return Error{
            ErrorCode::Malformed,
            "/capture.json: schema is not 1, so the capture is damaged or from a newer version"};
    MachineSource source;
    // Start from an empty host, so that captures from older versions may lack members.
    auto host = record_from<Host>(overlaid(to_value(Host{}), capture.at("host")));
    if (!host)
        return std::move(host).error().in("/capture.json: host");
    source.host = std::move(host).value();
    if (const auto at = capture.at("recorded_usec").as_int())
        source.recorded_at = WallTime{Duration{*at}};
    source.nodes = TRY(read_nodes(files));
    source.recorded = TRY(read_probes(files, source.variables));
    source.files = std::move(root);
    return source;
}

Result<MachineSource> replayed_machine(const std::string& folder) {
    std::error_code problem;
    const auto status = std::filesystem::status(folder, problem);
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
        return Error{ErrorCode::Malformed, "capture " + folder + ": not a folder"};
    const RootedFiles capture{folder};
    // If /root is a link, its target is resolved inside the capture and can't lead out of the
    // capture.
    const auto inside = capture.real_path("/root");
    if (!inside && capture.link_target("/root"))
        return Error{ErrorCode::Malformed, "capture " + folder + ": root does not exist"};
    const auto root = folder + (inside ? *inside : "/root");
    auto source = captured_machine(capture, std::make_shared<RootedFiles>(root));
    if (!source)
        return std::move(source).error().in("capture " + folder);
    return source;
}

MachineSource live_machine() {
    return MachineSource{.files = std::make_shared<RootedFiles>(),
                         .nodes = std::make_shared<LiveNodes>()};
}

bool ProbedMachine::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

/// For a capture, the recorded results replace the search for drivers.
void ProbedMachine::scan(const TargetFolders& folders) {
    hardware =
        scan_machine(files(), *source.nodes, source.host ? *source.host : detect_host(files()));
    if (is_replay()) {
        // Only the first scan finds results here: later scans keep them.
        for (auto& probe : *source.recorded)
            results.put(std::move(probe));
        source.recorded->clear();
        search.variables = source.variables;
        return;
    }
    search = find_targets(files(), hardware, folders);
    results.keep_only(search);
}

void ProbedMachine::scan_functions(const TargetFolders& folders) {
    // uname() provides all facts about the host that are needed here. Detecting the other facts
    // about the host takes longer than this scan.
    hardware = gpuprobe::scan_functions(files(), source.host ? *source.host : running_kernel());
    search = find_targets(files(), hardware, folders);
}

void ProbedMachine::refresh_power() {
    engine::refresh_power(files(), hardware);
}

/// The watched files are the dynamic linker's cache, and the manifests and folders of drivers.
std::string ProbedMachine::fingerprint() const {
    // Several render nodes may have the same folders, and a set contains each folder once.
    std::set<std::string> watched{std::string{kLinkerCache}};
    for (const auto& target : search.targets)
        for (auto& path : paths_of_driver(target, hardware.host))
            watched.insert(std::move(path));
    return store::fingerprint_of(hardware, files(), {watched.begin(), watched.end()});
}

}  // namespace gpuprobe::engine
