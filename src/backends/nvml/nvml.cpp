// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/nvml.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/denied_node.h"
#include "backends/nvml/nvml_abi.h"
#include "base/parse.h"

namespace gpuprobe {
namespace {

using nvml::Device;
using nvml::kSuccess;
using nvml::Symbols;

constexpr unsigned kMaxDevices = 64;
constexpr unsigned kMaxMigDevices = 16;

/// What a text query filled in; nullopt when it was refused.
template <class Query>
std::optional<std::string> text(Query query) {
    std::array<char, 96> buffer = {};
    if (query(buffer.data(), static_cast<unsigned>(buffer.size() - 1)) != kSuccess)
        return std::nullopt;
    return scrubbed(buffer.data());
}

/// The number that an optional function fills in; null when it is missing or refuses.
Value number(nvml::Return (*query)(Device, unsigned*), Device device) {
    unsigned value = 0;
    return query && query(device, &value) == kSuccess ? Value{value} : Value{};
}

std::string four_digits(unsigned id) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string digits;
    for (int shift = 12; shift >= 0; shift -= 4)
        digits += kDigits[id >> shift & 0xfU];
    return digits;
}

void add_pci(const Symbols& api, Device device, DeviceFacts& facts) {
    nvml::PciInfo pci;
    if (api.pci_info(device, &pci) != kSuccess)
        return;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    facts.pci = parse_text(std::string_view{pci.bus_id}, std::type_identity<PciAddress>{});
    facts.vendor_id = four_digits(pci.pci_device_id & 0xffffU);
    facts.device_id = four_digits(pci.pci_device_id >> 16U);
    facts.extra["subsystem_vendor_id"] = four_digits(pci.pci_subsystem_id & 0xffffU);
    facts.extra["subsystem_device_id"] = four_digits(pci.pci_subsystem_id >> 16U);
}

/// A GPU that shares the host's memory refuses, or says 0: then nothing is known here.
void add_memory(const Symbols& api, Device device, DeviceFacts& facts) {
    nvml::MemoryV2 memory;
    memory.version = nvml::kMemoryV2;
    if (api.memory_v2 && api.memory_v2(device, &memory) == kSuccess && memory.total > 0) {
        facts.memory = FactMemory{.total = Bytes{memory.total}, .free = Bytes{memory.free}};
        facts.extra["memory_reserved"] = Value{memory.reserved};
        return;
    }
    nvml::MemoryV1 first;
    if (api.memory(device, &first) == kSuccess && first.total > 0)
        facts.memory = FactMemory{.total = Bytes{first.total}, .free = Bytes{first.free}};
}

void add_compute_capability(const Symbols& api, Device device, DeviceFacts& facts) {
    int major = 0;
    int minor = 0;
    if (!api.compute_capability || api.compute_capability(device, &major, &minor) != kSuccess)
        return;
    facts.extra["compute_capability"] = std::to_string(major) + "." + std::to_string(minor);
}

/// The instances of a GPU in MIG mode, as far as they can be seen without privilege.
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
        if (api.mig_device(device, slot, &instance) != kSuccess)
            continue;
        Value entry;
        entry["index"] = slot;
        entry["uuid"] = to_value(
            text([&](char* buffer, unsigned size) { return api.uuid(instance, buffer, size); }));
        DeviceFacts of_instance;
        add_memory(api, instance, of_instance);
        entry["memory"] = to_value(of_instance.memory);
        facts.extra["mig_devices"].push_back(std::move(entry));
    }
}

/// A GPU in MIG mode refuses.
Value utilization(const Symbols& api, Device device) {
    nvml::Utilization rates;
    return api.utilization && api.utilization(device, &rates) == kSuccess ? Value{rates.gpu}
                                                                          : Value{};
}

DeviceFacts device_facts(const Symbols& api, Device device, unsigned index) {
    DeviceFacts facts;
    facts.index = index;
    facts.name = text([&](char* buffer, unsigned size) { return api.name(device, buffer, size); });
    facts.uuid = text([&](char* buffer, unsigned size) { return api.uuid(device, buffer, size); });
    add_pci(api, device, facts);
    add_memory(api, device, facts);
    add_compute_capability(api, device, facts);
    facts.extra["minor_number"] = number(api.minor_number, device);
    facts.extra["compute_mode"] = number(api.compute_mode, device);
    facts.extra["virtualization_mode"] = number(api.virtualization_mode, device);
    facts.extra["gpu_utilization"] = utilization(api, device);
    add_mig(api, device, facts);
    return facts;
}

void send_runtime(const Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime;
    runtime["loader"] = library.path().value_or(library.name());
    runtime["driver_version"] = to_value(text(api.driver_version));
    runtime["version"] = to_value(text(api.library_version));
    int cuda = 0;
    if (api.cuda_version && api.cuda_version(&cuda) == kSuccess)
        runtime["cuda_version"] =
            std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
    sink.runtime(runtime);
}

bool is_not_there(nvml::Return code) {
    return code == nvml::kDriverNotLoaded || code == nvml::kLibraryNotFound;
}

ReasonCode reason_for(nvml::Return code) {
    if (code == nvml::kVersionMismatch)
        return "driver-mismatch";
    if (is_not_there(code))
        return "driver-not-loaded";
    return "api-refused";
}

Answer refused(const Symbols& api, std::string_view call, nvml::Return code) {
    const char* words = api.error_string(code);
    const auto note = std::string{call} + ": " + scrubbed(words ? words : "no reason given");
    Answer answer{.outcome = is_not_there(code) ? Outcome::Absent : Outcome::Failed,
                  .note = note,
                  .reasons = {because(reason_for(code), {{"call", call}, {"code", code}})}};
    add_denial(kNvidiaControl, answer.reasons);
    return answer;
}

}  // namespace

Answer query_nvml(const ProbeTarget&, Sink& sink) {
    sink.phase("dlopen");
    const auto library = DynamicLibrary::open("libnvidia-ml.so.1");
    if (!library) {
        const bool absent = library.error().code == ErrorCode::NotFound;
        return Answer{.outcome = absent ? Outcome::Absent : Outcome::Failed,
                      .note = library.error().text};
    }
    const auto api = nvml::load(*library);
    if (!api)
        return Answer{.outcome = Outcome::Failed, .note = api.error().text};
    sink.phase("instance");
    if (const auto code = api->init(); code != kSuccess)
        return refused(*api, "nvmlInit_v2", code);
    send_runtime(*api, *library, sink);
    sink.phase("enumerate");
    unsigned count = 0;
    if (const auto code = api->count(&count); code != kSuccess)
        return refused(*api, "nvmlDeviceGetCount_v2", code);
    sink.phase("query");
    for (unsigned index = 0; index < std::min(count, kMaxDevices); ++index) {
        Device device = nullptr;
        if (const auto code = api->by_index(index, &device); code != kSuccess) {
            // One lost GPU must not hide the others.
            const auto answer = refused(*api, "nvmlDeviceGetHandleByIndex_v2", code);
            DeviceFacts facts{.index = index};
            facts.extra["error"] = to_value(answer.note);
            sink.device(facts);
            continue;
        }
        sink.device(device_facts(*api, device, index));
    }
    return Answer{};
}

std::optional<Bytes> nvml_free_memory(const PciAddress& address) {
    const auto library = DynamicLibrary::open("libnvidia-ml.so.1");
    const auto api = library ? std::optional{nvml::load(*library)} : std::nullopt;
    if (!api || !*api || !(*api)->by_address || (*api)->init() != kSuccess)
        return std::nullopt;
    Device device = nullptr;
    if ((*api)->by_address(text_of(address).c_str(), &device) != kSuccess)
        return std::nullopt;
    DeviceFacts facts;
    add_memory(**api, device, facts);
    return facts.memory ? facts.memory->free : std::nullopt;
}

}  // namespace gpuprobe
