// SPDX-License-Identifier: Apache-2.0
#include "report/assemble.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "knowledge/chips.h"
#include "report/access.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/fact_key.h"
#include "report/gpu_views.h"
#include "report/hardware.h"
#include "report/identity.h"
#include "report/join.h"
#include "report/kind.h"
#include "report/memory.h"
#include "report/partition.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::inline report {

/// Each API on this machine. An API has the outcome of its best driver, in this order of
/// preference: answered, failed, timed out, crashed, skipped, absent.
std::map<std::string, RuntimeInfo> runtimes_of(const std::vector<const ProbeResult*>& probes);

/// The mechanisms that confined all probed drivers; nullopt if no worker reported them.
std::optional<std::vector<std::string>> confinement_of(
    const std::vector<const ProbeResult*>& probes);

/// Converts the probes to the form in which the report lists them.
std::vector<ProbeEntry> probe_entries(const std::vector<const ProbeResult*>& probes);

/// The implementations on the CPU, in the order of their probes. If the device is named after the
/// processor, the name includes the implementation: "pocl (pthread-…)" or "Intel OpenCL (…)".
/// llvmpipe and SwiftShader already include the implementation in the name. `device` contains the
/// name that the driver reports. Trials are in `probes`.
std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices,
                                        const std::vector<const ProbeResult*>& probes);

namespace {

/// Outcomes of the drivers of one API, best first.
constexpr std::array kBestFirst{Outcome::Answered, Outcome::Failed,  Outcome::TimedOut,
                                Outcome::Crashed,  Outcome::Skipped, Outcome::Absent};

bool is_better(Outcome left, Outcome right) {
    return std::ranges::find(kBestFirst, left) < std::ranges::find(kBestFirst, right);
}

void add_driver(const ProbeResult& probe, RuntimeInfo& runtime) {
    if (!probe.driver.empty())
        runtime.drivers.push_back(
            RuntimeDriver{.manifest = probe.driver, .outcome = probe.outcome, .note = probe.note});
}

/// Takes each value from the first driver that reports it.
void add_facts(const ProbeResult& probe, RuntimeInfo& runtime) {
    if (!runtime.loader)
        runtime.loader = fact(probe, runtime_facts::kLoader);
    if (!runtime.loader_name)
        runtime.loader_name = fact(probe, runtime_facts::kLoaderName);
    if (!runtime.loader_version)
        runtime.loader_version = fact(probe, runtime_facts::kLoaderVersion);
    if (!runtime.version)
        runtime.version = fact(probe, runtime_facts::kVersion);
    if (!runtime.release)
        runtime.release = fact(probe, runtime_facts::kRocmVersion);
}

/// The last lines that the driver printed, from the reason `worker-output`.
std::optional<std::vector<std::string>> output_of(const ProbeResult& probe) {
    const auto found = std::ranges::find_if(
        probe.reasons, [](const Reason& reason) { return reason.is("worker-output"); });
    const auto* lines =
        found == probe.reasons.end() ? nullptr : found->detail.at("lines").as_array();
    if (!lines)
        return std::nullopt;
    std::vector<std::string> output;
    for (const auto& line : *lines)
        if (const auto* text = line.as_string())
            output.push_back(*text);
    return output;
}

}  // namespace

std::map<std::string, RuntimeInfo> runtimes_of(const std::vector<const ProbeResult*>& probes) {
    std::map<std::string, RuntimeInfo> runtimes;
    for (const auto* probe : probes) {
        if (probe->stage != "query")
            continue;
        const auto [entry, is_new] = runtimes.try_emplace(probe->api);
        auto& runtime = entry->second;
        if (is_new || is_better(probe->outcome, runtime.outcome))
            runtime.outcome = probe->outcome;
        add_driver(*probe, runtime);
        add_facts(*probe, runtime);
    }
    return runtimes;
}

std::optional<std::vector<std::string>> confinement_of(
    const std::vector<const ProbeResult*>& probes) {
    std::optional<std::vector<std::string>> common;
    for (const auto* probe : probes) {
        if (!probe->confinement)
            continue;
        if (!common)
            common = probe->confinement;
        // Keep only the mechanisms that every worker reported.
        std::erase_if(*common, [probe](const std::string& word) {
            return std::ranges::find(*probe->confinement, word) == probe->confinement->end();
        });
    }
    return common;
}

std::vector<ProbeEntry> probe_entries(const std::vector<const ProbeResult*>& probes) {
    std::vector<ProbeEntry> entries;
    for (const auto* probe : probes)
        entries.push_back(ProbeEntry{.api = probe->api,
                                     .driver = probe->driver,
                                     .stage = probe->stage,
                                     .device = probe->device,
                                     .outcome = probe->outcome,
                                     .duration = probe->duration,
                                     .exit_code = probe->exit_code,
                                     .signal = probe->signal,
                                     .phase = probe->phase,
                                     .note = probe->note,
                                     .output = output_of(*probe)});
    return entries;
}

namespace {

/// OpenCL runtimes for processors, identified by a word in their platform or manifest name. The
/// first match counts. Source: CL_PLATFORM_NAME of pocl ("Portable Computing Language"), of Intel's
/// CPU runtime ("Intel(R) OpenCL") and of AMD's old runtime ("AMD Accelerated Parallel
/// Processing").
struct CpuRuntime {
    std::string_view word;
    std::string_view name;
};
constexpr std::array kCpuRuntimes = std::to_array<CpuRuntime>({
    {"portable computing language", "pocl"},
    {"pocl", "pocl"},
    {"intel", "Intel OpenCL"},
    {"amd", "AMD OpenCL"},
});

/// The device's name, with the runtime in front if the name does not already start with it.
std::optional<std::string> name_of(const ApiDevice& device) {
    auto name = device.facts->name;
    if (device.probe->api != "opencl")
        return name;
    const auto words = driver_words(device);
    for (const auto& runtime : kCpuRuntimes) {
        if (words.find(runtime.word) == std::string::npos)
            continue;
        const bool is_named = name && lower_case(*name).starts_with(lower_case(runtime.name));
        if (is_named)
            return name;
        return std::string{runtime.name} + (name ? " (" + *name + ")" : "");
    }
    return name;
}

}  // namespace

std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices,
                                        const std::vector<const ProbeResult*>& probes) {
    std::vector<SoftwareDevice> software;
    for (const auto& device : devices) {
        const auto& driver = device.probe->driver;
        const auto trials = trials_of(probes, device.probe->api, driver, device_key(*device.facts));
        software.push_back(SoftwareDevice{.api = device.probe->api,
                                          .name = name_of(device),
                                          .driver = driver.empty()
                                                        ? fact(*device.facts, facts::kDriverName)
                                                        : std::optional{driver},
                                          .device = value_of(*device.facts),
                                          .verification = trials.verification,
                                          .measurement = trials.measurement,
                                          .score = trials.score});
    }
    return software;
}

namespace {

/// The fact from the most trusted API that reports it.
std::optional<std::string> trusted_fact(const Subject& subject, FactKey<std::string> key) {
    for (const auto* api : by_trust(&ApiTrust::architecture))
        if (const auto* claim = preferred_claim(subject, api->word))
            if (auto text = fact(*claim->device.facts, key))
                return text;
    return std::nullopt;
}

std::optional<std::string> gfx_target(const Subject& subject) {
    if (subject.hardware)
        if (const auto target = fact(*subject.hardware, kernel_facts::kGfxTarget))
            return without_features(*target);
    if (const auto target = trusted_fact(subject, facts::kGfxTarget))
        return without_features(*target);
    // Captures of ROCm's OpenCL may contain the target only as the device's name.
    const auto* claim = preferred_claim(subject, "opencl");
    return claim && claim->device.facts->name ? without_features(*claim->device.facts->name)
                                              : std::nullopt;
}

/// The member for the architecture that an API's builds depend on; null if the builds do not depend
/// on an architecture.
std::optional<std::string>* member_for(const ApiInfo& api, Architecture& architecture) {
    return api.architecture == facts::kComputeCapability.name
               ? &architecture.cuda_compute_capability
           : api.architecture == facts::kGfxTarget.name ? &architecture.gfx_target
           : api.architecture == facts::kIntelIp.name   ? &architecture.intel_ip
                                                        : nullptr;
}

/// Fills in the architecture from the chip table if no driver reported an architecture. Returns
/// whether the architecture was filled in.
bool fill_from_table(const HardwareDevice& hardware, Architecture& architecture) {
    const auto* chip = chip_of(hardware);
    const auto* api = own_api_of(vendor_of(hardware).value_or(""));
    auto* known = api ? member_for(*api, architecture) : nullptr;
    if (!chip || !chip->architecture || !known || *known)
        return false;
    *known = chip->architecture;
    return true;
}

/// The directions for which the GPU's chip has no video engine, according to the chip table.
std::vector<VideoDirection> lacking_video(const Subject& subject) {
    const auto* chip = subject.hardware ? chip_of(*subject.hardware) : nullptr;
    if (!chip || !chip->chip)
        return {};
    std::vector<VideoDirection> lacking;
    for (const auto word : words(knowledge::Chips::current().video_lacks_of(
             vendor_of(*subject.hardware).value_or(""), *chip->chip)))
        if (const auto direction = enum_from<VideoDirection>(word))
            lacking.push_back(*direction);
    return lacking;
}

struct JudgedArchitecture {
    Architecture architecture = {};
    std::optional<Basis> basis = {};  ///< nullopt if the architecture is unknown
};

/// CUDA's compute capability from CUDA or NVML; AMD's target from the KFD topology, HIP or ROCm's
/// OpenCL ("gfx90a", without the features behind a colon); Intel's IP from its driver. If no driver
/// reported the architecture, the chip table provides it, so that an installer gets an architecture
/// on a machine without drivers.
JudgedArchitecture architecture_of(const Subject& subject) {
    JudgedArchitecture judged{.architecture = {.cuda_compute_capability =
                                                   trusted_fact(subject, facts::kComputeCapability),
                                               .gfx_target = gfx_target(subject),
                                               .intel_ip = trusted_fact(subject, facts::kIntelIp)}};
    if (judged.architecture != Architecture{})
        judged.basis = Basis::Driver;
    if (subject.hardware && fill_from_table(*subject.hardware, judged.architecture))
        judged.basis = Basis::Table;
    return judged;
}

void append(std::vector<Reason>& all, std::vector<Reason> more) {
    std::ranges::move(more, std::back_inserter(all));
}

/// Whether CUDA was probed and did not answer. Until CUDA has been probed, a missing
/// /dev/nvidia-uvm isn't a problem, because nvidia-modprobe creates it for the first program that
/// uses CUDA.
bool misses_uvm(const Gpu& gpu) {
    const std::string cuda{info_of(Api::Cuda).word};
    if (!was_asked(gpu, cuda))
        return false;
    const auto& view = gpu.apis.at(cuda);
    return view.outcome != Outcome::Answered || view.device.is_null();
}

/// Adds the kernel's power state and findings.
void add_hardware(const HardwareDevice& hardware, const Host& host, Gpu& gpu) {
    gpu.power.runtime_status = hardware.runtime_status;
    gpu.findings = hardware.findings;
    if (!misses_uvm(gpu))
        std::erase_if(gpu.findings, [](const Reason& found) { return found.is("uvm-missing"); });
    append(gpu.findings, node_findings(hardware.nodes, host));
}

std::optional<std::vector<std::string>> words_in(const Value& list) {
    std::vector<std::string> words;
    if (!list.as_array() || !read_value(list, words).empty())
        return std::nullopt;
    return words;
}

/// Adds the slowdown reasons from the kernel driver or, if it reports none, from the first API that
/// does.
void add_slowdowns(const HardwareDevice* hardware, WallTime now, Gpu& gpu) {
    if (hardware && hardware->sensed_at) {
        gpu.power.slowdowns = words_in(fact(*hardware, kernel_facts::kSlowdowns));
        gpu.power.slowdowns_at = hardware->sensed_at;
    }
    for (const auto& [api, view] : gpu.apis)
        if (!gpu.power.slowdowns && view.age) {
            gpu.power.slowdowns = words_in(fact(view.device, facts::kSlowdowns));
            gpu.power.slowdowns_at = now - *view.age;
        }
    if (!gpu.power.slowdowns)
        gpu.power.slowdowns_at.reset();
}

/// Adds the trials of whole GPUs to their backends. The trials count if they ran on the driver that
/// the API's view is based on.
void add_whole_trials(const Subject& subject,
                      const std::vector<const ProbeResult*>& probes,
                      Gpu& gpu) {
    for (auto& [name, view] : gpu.backends) {
        const auto api = api_below(name);
        const auto asked = gpu.apis.find(std::string{api});
        if (const auto* claim = preferred_claim(subject, api))
            add_trials(trials_of(probes, api, claim->device.probe->driver,
                                 device_key(*claim->device.facts)),
                       api, view);
        else if (asked != gpu.apis.end() && is_listed_when_named(asked->second))
            add_trials(
                trials_of(probes, api, asked->second.driver.value_or(""), key_by_address(gpu)), api,
                view);
    }
}

/// Whether the device of an API is the partition. A MIG instance is compared by UUID, because CUDA
/// gives an instance index 0 if no other instance is visible.
bool is_of(const DeviceFacts& device, const Partition& partition, const std::string& api) {
    if (partition.gpu_instance)
        return partition.uuid && device.uuid == partition.uuid;
    const auto index = partition.indices.find(api);
    return index != partition.indices.end() && device.index == index->second;
}

/// Stores trials of partitions as further devices of the API, under `alternatives`.
/// report/compute_view.h reads them.
void add_partition_trials(const Subject& subject,
                          const std::vector<const ProbeResult*>& probes,
                          Gpu& gpu) {
    for (auto& member : gpu.apis) {
        const auto& api = member.first;  // clang 14 cannot capture a structured binding in a lambda
        auto& view = member.second;
        const auto* claim = preferred_claim(subject, api);
        const auto driver = claim ? claim->device.probe->driver : view.driver.value_or("");
        for (const auto* probe : probes) {
            const bool is_trial = (claim || is_listed_when_named(view)) &&
                                  probe->stage != kQueryStage && probe->api == api &&
                                  probe->driver == driver && probe->devices.size() == 1;
            if (!is_trial || std::ranges::none_of(gpu.partitions, [&](const Partition& partition) {
                    return is_of(probe->devices.front(), partition, api);
                }))
                continue;
            Value entry;
            entry["driver"] = probe->driver;
            entry["device"] = value_of(probe->devices.front());
            view.device["alternatives"].push_back(std::move(entry));
        }
    }
}

/// Adds the processor's trials to the host.
void add_trials(const std::vector<const ProbeResult*>& probes, Cpu& cpu) {
    const auto trials = trials_of(probes, kCpuApi, "", kCpuDevice);
    cpu.verification = trials.verification;
    cpu.measurement = trials.measurement;
    cpu.score = trials.score;
}

/// Builds one GPU of the report. The order matters: findings need the API views, backends need the
/// findings, and trials need the backends.
Gpu gpu_of(const Subject& subject,
           const Machine& machine,
           const std::vector<const ProbeResult*>& probes,
           WallTime now) {
    const auto kind = judge_kind(subject);
    auto architecture = architecture_of(subject);
    Gpu gpu{.id = subject.id,
            .kind = kind.kind,
            .basis = GpuBasis{.role = judge_role(subject).basis,
                              .kind = kind.basis,
                              .architecture = architecture.basis},
            .vendor = vendor_of(subject),
            .name = name_of(subject),
            .pci = pci_of(subject),
            .driver = driver_of(subject, machine.host),
            .nodes = nodes_of(subject, machine.host),
            .identity = identity_of(subject),
            .architecture = std::move(architecture.architecture),
            .lacks_video = lacking_video(subject),
            .apis = api_views(subject, probes, now)};
    if (subject.hardware)
        add_hardware(*subject.hardware, machine.host, gpu);
    add_slowdowns(subject.hardware, now, gpu);
    gpu.title = title_of(gpu);
    gpu.partitions = partitions_of(subject);
    auto memory = memory_of(subject, gpu.kind, machine.host, now);
    gpu.memory = std::move(memory.memory);
    append(gpu.findings, std::move(memory.findings));
    append(gpu.findings, driver_findings(gpu.apis));
    append(gpu.findings, denied_findings(gpu));
    gpu.health = health_of(gpu.findings);
    gpu.backends = backend_views(machine, gpu);
    add_whole_trials(subject, probes, gpu);
    add_partition_trials(subject, probes, gpu);
    return gpu;
}

/// The kind in the chip's row of the chip table or, if there is none, in the kernel driver's row.
std::optional<std::string> accelerator_kind(const HardwareDevice& hardware) {
    for (const auto* row : {chip_of(hardware), driver_row_of(hardware)})
        if (row && row->kind)
            return row->kind;
    return std::nullopt;
}

/// The formats that all nodes of a V4L2 codec report.
std::optional<std::vector<VideoEntry>> video_of(const Subject& subject) {
    std::optional<std::vector<VideoEntry>> all;
    for (const auto& claim : subject.claims) {
        const auto* list = claim.device.probe->api == info_of(Api::V4l2).word
                               ? fact(*claim.device.facts, facts::kVideo)
                               : nullptr;
        if (!list)
            continue;
        if (!all)
            all.emplace();
        for (auto& entry : video_entries(*list))
            if (all->size() < kMaxVideoEntries && std::ranges::find(*all, entry) == all->end())
                all->push_back(std::move(entry));
    }
    return all;
}

AcceleratorPower power_of(const HardwareDevice& hardware) {
    return {.runtime_status = hardware.runtime_status,
            .draw = fact(hardware, kernel_facts::kPowerDraw),
            .limit = fact(hardware, kernel_facts::kPowerLimit),
            .temperature = fact(hardware, kernel_facts::kTemperature)};
}

Accelerator accelerator_of(const Subject& subject, const Host& host) {
    Accelerator accelerator{.id = subject.id,
                            .vendor = vendor_of(subject),
                            .name = name_of(subject),
                            .pci = pci_of(subject),
                            .driver = driver_of(subject, host)};
    if (!subject.hardware)
        return accelerator;
    const auto& hardware = *subject.hardware;
    accelerator.kind = accelerator_kind(hardware);
    accelerator.firmware = fact(hardware, kernel_facts::kFirmware);
    accelerator.nodes = hardware.nodes;
    accelerator.memory = reading_of(hardware, "driver-sysfs", "total");
    accelerator.power = power_of(hardware);
    accelerator.video = video_of(subject);
    accelerator.findings = hardware.findings;
    append(accelerator.findings, node_findings(hardware.nodes, host));
    accelerator.health = health_of(accelerator.findings);
    return accelerator;
}

/// Adds each subject according to its role, then sets the properties that depend on all GPUs.
void add_devices(const Joined& joined,
                 const Machine& machine,
                 const std::vector<const ProbeResult*>& probes,
                 Report& report,
                 WallTime now) {
    std::vector<const HardwareDevice*> hardware;
    for (const auto& subject : joined.subjects) {
        const auto role = role_of(subject);
        if (role == Role::Accelerator)
            report.accelerators.push_back(accelerator_of(subject, machine.host));
        if (role != Role::Gpu && role != Role::DisplayOnly)
            continue;
        report.gpus.push_back(gpu_of(subject, machine, probes, now));
        hardware.push_back(subject.hardware);
    }
    mark_primary(report.gpus, hardware);
    settle_uuids(report.gpus);
    std::ranges::sort(report.gpus, comes_before);
}

/// Replaces the UUIDs of MIG instances in the list of probes with the partitions' ids, because not
/// every caller may see UUIDs.
void name_partitions(Report& report) {
    constexpr std::string_view kUuid = "uuid:";
    for (auto& probe : report.probes) {
        if (!probe.device || !probe.device->starts_with(kUuid))
            continue;
        const auto uuid = probe.device->substr(kUuid.size());
        probe.device.reset();
        for (const auto& gpu : report.gpus)
            for (const auto& partition : gpu.partitions)
                if (partition.uuid == uuid)
                    probe.device = partition.id;
    }
}

std::vector<Reason> notes_of(const Machine& machine, const Joined& joined) {
    std::vector<Reason> notes;
    for (const auto& note : machine.notes)
        notes.push_back(because("unreadable", {{"note", note}}));
    append(notes, joined.notes);
    return notes;
}

}  // namespace

Report assemble(const Machine& machine,
                const std::vector<ProbeResult>& probes,
                const ReportContext& context) {
    const auto sorted = sorted_probes(probes);
    const auto joined = join(machine, sorted);
    Report report{.generation = context.generation,
                  .state = context.state,
                  .created = context.now,
                  .source = context.source,
                  .host = machine.host,
                  .software = software_of(joined.software, sorted),
                  .nodes = machine.shared_nodes,
                  .runtimes = runtimes_of(sorted),
                  .probes = probe_entries(sorted),
                  .confinement = confinement_of(sorted),
                  .notes = notes_of(machine, joined)};
    add_trials(sorted, report.host.cpu);
    add_devices(joined, machine, sorted, report, context.now);
    name_partitions(report);
    return report;
}

}  // namespace gpuprobe::inline report
