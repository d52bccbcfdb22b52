// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/nvml.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "backends/driver_library.h"
#include "backends/texts.h"
#include "base/record.h"
#include "base/text.h"
#include "report/api_device.h"

namespace gpuprobe::backends {
namespace {

using nvml::Device;
using nvml::kSuccess;
using nvml::Symbols;

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr unsigned kMaxDevices = 64;
constexpr unsigned kMaxMigDevices = 64;
constexpr unsigned long long kMaxInstanceMib = 1ULL << 30U;
constexpr unsigned kMaxProcesses = 4096;  // the limit for each device and each kind of process

/// The string that a query about the library or about a device fills in.
template <class Query, class... Subject>
std::optional<std::string> text(const Query& query, Subject... subject) {
    return written_text([&](char* buffer, int size) {
        return query(subject..., buffer, static_cast<unsigned>(size));
    });
}

/// The number that an optional function fills in; null if the function is missing or fails.
Value number(nvml::Return (*query)(Device, unsigned*), Device device) {
    unsigned value = 0;
    return query && query(device, &value) == kSuccess ? Value{value} : Value{};
}

void add_pci(const Symbols& api, Device device, DeviceFacts& facts) {
    nvml::PciInfo pci;
    if (api.pci_info(device, &pci) != kSuccess)
        return;
    // The driver should have terminated the string with a NUL; make sure that it is terminated.
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    facts.pci = parse_text(std::string_view{pci.bus_id}, std::type_identity<PciAddress>{});
    facts.vendor_id = hexadecimal(pci.pci_device_id & 0xffffU, 4);
    facts.device_id = hexadecimal(pci.pci_device_id >> 16U, 4);
    facts.extra["subsystem_vendor_id"] = hexadecimal(pci.pci_subsystem_id & 0xffffU, 4);
    facts.extra["subsystem_device_id"] = hexadecimal(pci.pci_subsystem_id >> 16U, 4);
}

/// Adds total and free memory. For a GPU that shares the host's memory, NVML fails or reports 0; in
/// this case the memory stays unknown.
void add_memory(const Symbols& api, Device device, DeviceFacts& facts) {
    nvml::MemoryV2 memory;
    memory.version = nvml::kMemoryV2;
    if (api.memory_v2 && api.memory_v2(device, &memory) == kSuccess && memory.total > 0) {
        facts.memory = FactMemory{.total = Bytes{memory.total}, .free = Bytes{memory.free}};
        facts.extra["memory_reserved"] = Value{memory.reserved};
        return;
    }
    // Older drivers only have version 1 of the function, which does not report the reserved memory.
    nvml::MemoryV1 first;
    if (api.memory(device, &first) == kSuccess && first.total > 0)
        facts.memory = FactMemory{.total = Bytes{first.total}, .free = Bytes{first.free}};
}

void add_compute_capability(const Symbols& api, Device device, DeviceFacts& facts) {
    int major = 0;
    int minor = 0;
    if (!api.compute_capability || api.compute_capability(device, &major, &minor) != kSuccess)
        return;
    facts.extra["compute_capability"] =
        dotted({static_cast<unsigned>(major), static_cast<unsigned>(minor)});
}

void add_attributes(const Symbols& api, Device instance, Value& entry) {
    nvml::Attributes has;
    if (!api.attributes || api.attributes(instance, &has) != kSuccess)
        return;
    entry["gpu_slices"] = has.gpu_slices;
    entry["compute_slices"] = has.compute_slices;
    entry["multiprocessors"] = has.multiprocessors;
    entry["decoders"] = has.decoders;
    entry["encoders"] = has.encoders;
    entry["memory_size"] = to_value(mib(std::min(has.memory_mib, kMaxInstanceMib)));
}

/// The facts of one MIG instance.
Value instance_entry(const Symbols& api, Device instance, unsigned slot) {
    Value entry;
    entry["index"] = slot;
    entry["name"] = to_value(text(api.name, instance));
    entry["uuid"] = to_value(text(api.uuid, instance));
    entry["gpu_instance"] = number(api.gpu_instance, instance);
    entry["compute_instance"] = number(api.compute_instance, instance);
    add_attributes(api, instance, entry);
    DeviceFacts of_instance;
    add_memory(api, instance, of_instance);
    entry["memory"] = to_value(of_instance.memory);
    return entry;
}

/// Adds the instances of a GPU in MIG mode that are visible without privileges.
void add_mig(const Symbols& api, Device device, DeviceFacts& facts) {
    unsigned current = 0;
    unsigned pending = 0;
    if (!api.mig_mode || api.mig_mode(device, &current, &pending) != kSuccess)
        return;
    facts.extra["mig_mode"] = current != 0;
    unsigned slots = 0;
    if (current == 0 || !api.mig_device || !api.max_mig_devices ||
        api.max_mig_devices(device, &slots) != kSuccess)
        return;
    for (unsigned slot = 0; slot < std::min(slots, kMaxMigDevices); ++slot) {
        Device instance = nullptr;
        // The slot has no instance, or an instance that this process may not see.
        if (api.mig_device(device, slot, &instance) != kSuccess)
            continue;
        facts.extra["mig_devices"].push_back(instance_entry(api, instance, slot));
    }
}

/// The utilization in percent; null for a GPU in MIG mode, for which NVML reports no utilization.
Value utilization(const Symbols& api, Device device) {
    nvml::Utilization rates;
    return api.utilization && api.utilization(device, &rates) == kSuccess ? Value{rates.gpu}
                                                                          : Value{};
}

/// A power in watts; NVML reports milliwatts.
Value watts(nvml::Return (*query)(Device, unsigned*), Device device) {
    unsigned milliwatts = 0;
    return query && query(device, &milliwatts) == kSuccess ? Value{milliwatts / 1000} : Value{};
}

/// The reasons why clocks are reduced; null if unknown, and an empty list if clocks are not
/// reduced.
Value slowdowns(const Symbols& api, Device device) {
    constexpr auto kWords = std::to_array<std::pair<unsigned long long, std::string_view>>(
        {{nvml::kSwPowerCap, "power-cap"},
         {nvml::kHwSlowdown, "slowdown"},
         {nvml::kSyncBoost, "sync-boost"},
         {nvml::kSwThermal, "thermal"},
         {nvml::kHwThermal, "hw-thermal"},
         {nvml::kPowerBrake, "power-brake"}});
    unsigned long long bits = 0;
    if (!api.clocks_reasons || api.clocks_reasons(device, &bits) != kSuccess)
        return {};
    Value found{Value::Array{}};
    for (const auto& [bit, word] : kWords)
        if ((bits & bit) != 0)
            found.push_back(Value{word});
    return found;
}

/// Adds memory errors, which are reported only for memory with ECC. GPUs before Ampere retire
/// pages; later GPUs remap rows.
void add_memory_errors(const Symbols& api, Device device, DeviceFacts& facts) {
    unsigned long long errors = 0;
    if (api.ecc_errors &&
        api.ecc_errors(device, nvml::kUncorrected, nvml::kVolatile, &errors) == kSuccess)
        facts.extra["ecc_uncorrected"] = Value{errors};
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (api.remapped_rows &&
        api.remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == kSuccess) {
        facts.extra["remap_pending"] = pending != 0;
        facts.extra["remap_failed"] = failed != 0;
    } else if (api.pages_pending && api.pages_pending(device, &pending) == kSuccess) {
        facts.extra["remap_pending"] = pending != 0;
    }
}

/// Whether all enabled features are licensed; null for a physical GPU, and for a GPU that needs no
/// license.
Value licensed(const Symbols& api, Device device) {
    nvml::LicensableFeatures has;
    if (!api.licensable || api.licensable(device, &has) != kSuccess || has.is_supported == 0)
        return {};
    Value all;
    for (const auto& feature :
         std::span{has.features}.first(std::min<std::size_t>(has.count, std::size(has.features))))
        if (feature.enabled != 0)
            all = Value{all.as_bool().value_or(true) && feature.state != 0};
    return all;
}

/// The facts that most clients wait for.
DeviceFacts device_facts(const Symbols& api, Device device, unsigned index) {
    DeviceFacts facts;
    facts.index = index;
    facts.name = text(api.name, device);
    facts.uuid = text(api.uuid, device);
    add_pci(api, device, facts);
    add_memory(api, device, facts);
    add_compute_capability(api, device, facts);
    facts.extra["minor_number"] = number(api.minor_number, device);
    facts.extra["compute_mode"] = number(api.compute_mode, device);
    facts.extra["virtualization_mode"] = number(api.virtualization_mode, device);
    add_mig(api, device, facts);
    return facts;
}

/// The facts for which NVML queries the GPU's firmware. Reading these facts takes as long as
/// reading all other facts.
DeviceFacts slow_facts(const Symbols& api, Device device, unsigned index) {
    DeviceFacts facts;
    facts.index = index;
    facts.extra["gpu_utilization"] = utilization(api, device);
    facts.extra["persistence_mode"] = number(api.persistence_mode, device);
    facts.extra["power_limit"] = watts(api.power_limit, device);
    facts.extra["default_power_limit"] = watts(api.default_power_limit, device);
    facts.extra["slowdowns"] = slowdowns(api, device);
    facts.extra["licensed"] = licensed(api, device);
    add_memory_errors(api, device, facts);
    return facts;
}

using ListProcesses = nvml::Return (*)(Device, unsigned*, nvml::ProcessInfo*);

/// The processes that a function lists; nullopt if the function fails. The buffer is enlarged as
/// often as necessary, because the list may grow between two calls. Processes outside our PID
/// namespace have the id 0 and are left out.
std::optional<std::vector<nvml::ProcessInfo>> listed(ListProcesses list, Device device) {
    std::vector<nvml::ProcessInfo> found(64);
    while (list) {
        auto count = static_cast<unsigned>(found.size());
        const auto result = list(device, &count, found.data());
        if (result == kSuccess) {
            found.resize(std::min<std::size_t>(count, found.size()));
            std::erase_if(found, [](const auto& process) { return process.pid == 0; });
            return found;
        }
        if (result != nvml::kInsufficientSize || found.size() >= kMaxProcesses)
            return std::nullopt;
        const auto more = std::max<std::size_t>(count, found.size()) * 2;
        found.resize(std::min<std::size_t>(more, kMaxProcesses));
    }
    return std::nullopt;
}

Value process_entry(const nvml::ProcessInfo& process, bool computes) {
    const bool is_known = process.used != nvml::kUsedNotKnown;
    const bool has_instance = process.gpu_instance != nvml::kNoInstance;
    Value entry;
    entry["pid"] = process.pid;
    entry["memory_used"] = is_known ? Value{process.used} : Value{};
    entry["computes"] = computes;
    entry["gpu_instance"] = has_instance ? Value{process.gpu_instance} : Value{};
    return entry;
}

/// The processes that compute and the processes that draw on a device; null if NVML reports neither
/// kind.
Value processes_on(const Symbols& api, Device device) {
    const auto computing = listed(api.compute_processes, device);
    const auto drawing = listed(api.graphics_processes, device);
    if (!computing && !drawing)
        return Value{};
    Value entries{Value::Array{}};
    for (const auto& process : computing.value_or(std::vector<nvml::ProcessInfo>{}))
        entries.push_back(process_entry(process, true));
    for (const auto& process : drawing.value_or(std::vector<nvml::ProcessInfo>{}))
        entries.push_back(process_entry(process, false));
    return entries;
}

DeviceFacts facts_on_processes(const Symbols& api, Device device, unsigned index) {
    DeviceFacts facts;
    facts.index = index;
    add_pci(api, device, facts);
    facts.extra["processes"] = processes_on(api, device);
    return facts;
}

void send_runtime(const Symbols& api, const DynamicLibrary& library, Sink& sink) {
    auto runtime = runtime_of(library);
    runtime["driver_version"] = to_value(text(api.driver_version));
    runtime["version"] = to_value(text(api.library_version));
    int cuda = 0;
    if (api.cuda_version && api.cuda_version(&cuda) == kSuccess)
        runtime["cuda_version"] = cuda_version_text(cuda);
    sink.runtime(runtime);
}

/// The reason code for an NVML error.
const char* reason_of(nvml::Return code) {
    switch (code) {
        case nvml::kVersionMismatch:
            return "driver-mismatch";
        case nvml::kDriverNotLoaded:
        case nvml::kLibraryNotFound:
            return "driver-not-loaded";
        default:
            return "api-refused";
    }
}

/// The answer for a failed call. If the driver or the library is missing, the answer is Absent.
Answer refused(const Symbols& api, const char* function, nvml::Return code) {
    const char* const words = api.error_string(code);
    const bool not_there = code == nvml::kDriverNotLoaded || code == nvml::kLibraryNotFound;
    auto answer = answer_of(
        refused_call(reason_of(code), function, scrubbed(words ? words : "no reason given"), code),
        not_there ? Outcome::Absent : Outcome::Failed);
    add_denial(kNvidiaControl, answer.reasons);
    return answer;
}

using FindDevice = OptionalSymbol<nvml::Return(const char*, Device*)> Symbols::*;

/// The free memory of one device, which `find` looks up by name. Loads and initializes NVML only
/// for this query.
std::optional<Bytes> free_of(FindDevice find, const std::string& name) {
    const auto library = DynamicLibrary::open(kLibrary);
    const auto api = library ? std::optional{load<Symbols>(*library)} : std::nullopt;
    if (!api || !*api || !((**api).*find) || (*api)->init() != kSuccess)
        return std::nullopt;
    Device device = nullptr;
    if (((**api).*find)(name.c_str(), &device) != kSuccess)
        return std::nullopt;
    DeviceFacts facts;
    add_memory(**api, device, facts);
    return facts.memory ? facts.memory->free : std::nullopt;
}

using FactsOf = DeviceFacts (*)(const Symbols& api, Device device, unsigned index);

struct Found {
    unsigned index = 0;
    Device device = nullptr;
};

/// Reports each device with `facts_of` and returns the devices. A device without a handle (a GPU
/// that is no longer on the bus) is reported with an error and must not hide the other devices.
std::vector<Found> report_each(const Symbols& api, unsigned count, FactsOf facts_of, Sink& sink) {
    const auto refuse = [&](const char* function, nvml::Return code) {
        return refused(api, function, code);
    };
    std::vector<Found> found;
    for (unsigned index = 0; index < std::min(count, kMaxDevices); ++index) {
        Device device = nullptr;
        if (const auto handed = call(refuse, api.by_index, index, &device); !handed) {
            DeviceFacts facts{.index = index};
            facts.extra["error"] = to_value(handed.error().note);
            facts.extra["error_code"] = handed.error().reasons.front().detail.at("code");
            sink.device(facts);
            continue;
        }
        sink.device(facts_of(api, device, index));
        found.push_back({.index = index, .device = device});
    }
    return found;
}

/// Reports `first` for each device, then `later` as additional facts.
Answer each_device(Sink& sink, FactsOf first, FactsOf later = nullptr) {
    const auto library = TRY(open_library(kLibrary, sink));
    const auto api = TRY(query_functions<Symbols>(library));
    const auto refuse = [&](const char* function, nvml::Return code) {
        return refused(api, function, code);
    };
    sink.phase("instance");
    (void)TRY(call(refuse, api.init));
    if (later)
        send_runtime(api, library, sink);
    sink.phase("enumerate");
    unsigned count = 0;
    (void)TRY(call(refuse, api.count, &count));
    sink.phase("query");
    const auto found = report_each(api, count, first, sink);
    // If there is no `later`, all facts have been reported. Otherwise, first mark the device list
    // as complete, because reading the other facts takes a long time.
    if (!later)
        return Answer{};
    sink.known();
    for (const auto& [index, device] : found)
        sink.device(later(api, device, index));
    return Answer{};
}

}  // namespace

Answer query_nvml(const ProbeTarget&, Sink& sink) {
    return each_device(sink, device_facts, slow_facts);
}

Answer list_nvml_processes(const ProbeTarget&, Sink& sink) {
    return each_device(sink, facts_on_processes);
}

std::optional<Bytes> nvml_free_memory(const PciAddress& address) {
    return free_of(&Symbols::by_address, text_of(address));
}

std::optional<Bytes> nvml_free_memory(const std::string& uuid) {
    return free_of(&Symbols::by_uuid, uuid);
}

namespace {

constexpr std::string_view kPci = "pci:";
constexpr std::string_view kUuid = "uuid:";
constexpr std::string_view kDriver = "/proc/driver/nvidia/";
constexpr Bytes kMaxInformation = kib(16);

/// Whether the GPU with the given minor number has MIG instances: its folder then has entries
/// "gi0", "gi1" ….
bool is_partitioned(const FileSystem& files, std::string_view minor) {
    const auto names =
        files.list(std::string{kDriver} + "capabilities/gpu" + std::string{minor} + "/mig");
    return names && std::ranges::any_of(
                        *names, [](const std::string& name) { return name.starts_with("gi"); });
}

/// Whether the string is the UUID of a MIG instance. The check is strict, because the string comes
/// from a request and is stored in the environment.
bool is_mig_uuid(std::string_view text) {
    constexpr std::string_view kMig = "MIG-";
    return text.starts_with(kMig) && uuid_digits(text.substr(kMig.size()));
}

}  // namespace

std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target) {
    if (target.device && target.device->starts_with(kUuid) &&
        is_mig_uuid(target.device->substr(kUuid.size())))
        return target.device->substr(kUuid.size());
    if (!target.device || !target.device->starts_with(kPci))
        return std::nullopt;
    // The kernel driver has a folder for each GPU, named after its address.
    const auto address = target.device->substr(kPci.size());
    const auto path = std::string{kDriver} + "gpus/" + address + "/information";
    const auto text = files.read(path, kMaxInformation);
    const auto uuid = text ? value_of_line(*text, "GPU UUID") : std::nullopt;
    const auto minor = text ? value_of_line(*text, "Device Minor") : std::nullopt;
    // Until the GPU is initialized, the file has question marks for unknown digits.
    const bool is_known =
        uuid && uuid->starts_with("GPU-") && uuid->find('?') == std::string_view::npos;
    if (!is_known || !minor || is_partitioned(files, *minor))
        return std::nullopt;
    return std::string{*uuid};
}

void start_only_wanted(const ProbeTarget& target) {
    if (target.stage == "query")
        return;
    if (const auto uuid = uuid_of_wanted(RootedFiles{}, target))
        ::setenv("CUDA_VISIBLE_DEVICES", uuid->c_str(), 0);
}

Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts) {
    if (facts.vendor_id != "10de" || !facts.pci)
        return std::optional<Bytes>{};
    // An instance has less memory than the whole GPU at its address.
    const bool is_instance = facts.uuid && is_mig_uuid(*facts.uuid);
    const auto free = is_instance ? nvml_free_memory(*facts.uuid) : nvml_free_memory(*facts.pci);
    if (!free || *free >= kMinNvidiaFree)
        return free;
    return Refusal{.code = "out-of-memory",
                   .note = "too little device memory is free for a context",
                   .detail = Value{Value::Object{{"have", to_value(*free)},
                                                 {"need", to_value(kMinNvidiaFree)}}}};
}

}  // namespace gpuprobe::backends
