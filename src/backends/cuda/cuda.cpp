// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/compute/device_choice.h"
#include "backends/compute/only_nvidia_gpu.h"
#include "backends/cuda/cuda_abi.h"
#include "backends/cuda/cuda_accelerator.h"
#include "backends/denied_node.h"
#include "base/parse.h"

namespace gpuprobe {
namespace {

using cuda::Attribute;
using cuda::Device;
using cuda::kSuccess;
using cuda::Symbols;

constexpr int kMaxDevices = 64;
constexpr std::uint64_t kHertzPerKilohertz = 1000;

struct AttributeFact {
    Attribute attribute;
    std::string_view key;
    std::uint64_t unit = 1;  ///< what one step of the attribute is, in the unit of the key
};

/// Clocks are reported in kilohertz by the driver and kept in hertz.
constexpr std::array<AttributeFact, 15> kAttributes = {{
    {Attribute::MultiprocessorCount, "multiprocessors"},
    {Attribute::MaxThreadsPerBlock, "max_threads_per_block"},
    {Attribute::WarpSize, "warp_size"},
    {Attribute::MaxRegistersPerBlock, "max_registers_per_block"},
    {Attribute::MaxSharedMemoryPerBlockOptin, "max_shared_memory_per_block"},
    {Attribute::L2CacheSize, "l2_cache"},
    {Attribute::ClockRate, "clock_hz", kHertzPerKilohertz},
    {Attribute::MemoryClockRate, "memory_clock_hz", kHertzPerKilohertz},
    {Attribute::GlobalMemoryBusWidth, "memory_bus_bits"},
    {Attribute::ComputeMode, "compute_mode"},
    {Attribute::EccEnabled, "ecc"},
    {Attribute::ManagedMemory, "managed_memory"},
    {Attribute::ConcurrentManagedAccess, "concurrent_managed_access"},
    {Attribute::VirtualMemoryManagement, "virtual_memory_management"},
    {Attribute::MemoryPools, "memory_pools"},
}};

std::optional<int> attribute(const Symbols& api, Attribute which, Device device) {
    int value = 0;
    if (api.attribute(&value, static_cast<int>(which), device) != kSuccess)
        return std::nullopt;
    return value;
}

/// "GPU-8-4-4-4-12", the form that CUDA_VISIBLE_DEVICES and nvidia-smi use; the bytes are in that
/// order.
std::string uuid_text(const cuda::Uuid& uuid) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += kDigits[uuid.bytes[i] >> 4U];
        text += kDigits[uuid.bytes[i] & 0xfU];
    }
    return text;
}

std::optional<std::string> name_of_device(const Symbols& api, Device device) {
    std::array<char, 256> name = {};
    if (api.name(name.data(), static_cast<int>(name.size() - 1), device) != kSuccess)
        return std::nullopt;
    return scrubbed(name.data());
}

std::optional<PciAddress> pci_of(const Symbols& api, Device device) {
    std::array<char, 32> text = {};
    if (api.pci_bus_id(text.data(), static_cast<int>(text.size() - 1), device) != kSuccess)
        return std::nullopt;
    return parse_text(std::string_view{text.data()}, std::type_identity<PciAddress>{});
}

void add_attributes(const Symbols& api, Device device, DeviceFacts& facts) {
    const auto major = attribute(api, Attribute::ComputeCapabilityMajor, device);
    const auto minor = attribute(api, Attribute::ComputeCapabilityMinor, device);
    if (major && minor)
        facts.extra["compute_capability"] = std::to_string(*major) + "." + std::to_string(*minor);
    if (const auto integrated = attribute(api, Attribute::Integrated, device))
        facts.type = *integrated != 0 ? DeviceType::Integrated : DeviceType::Discrete;
    for (const auto& fact : kAttributes) {
        const auto value = attribute(api, fact.attribute, device);
        const bool known = value && *value >= 0;
        facts.extra[fact.key] =
            known ? Value{static_cast<unsigned long long>(*value) * fact.unit} : Value{};
    }
}

DeviceFacts device_facts(const Symbols& api, Device device, int index) {
    DeviceFacts facts;
    facts.index = static_cast<std::uint32_t>(index);
    facts.name = name_of_device(api, device);
    facts.vendor_id = "10de";
    facts.pci = pci_of(api, device);
    cuda::Uuid uuid;
    if (api.uuid && api.uuid(&uuid, device) == kSuccess)
        facts.uuid = uuid_text(uuid);
    std::size_t total = 0;
    if (api.total_memory(&total, device) == kSuccess && total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
    add_attributes(api, device, facts);
    return facts;
}

/// What cuInit's refusals mean; the numbers and causes are in docs/facts.md.
ReasonCode reason_for(cuda::CudaResult code) {
    switch (code) {
        case cuda::kNoDevice:
            return "no-device";
        case cuda::kStubLibrary:
            return "stub-library";
        case cuda::kDriverMismatch:
            return "driver-mismatch";
        case cuda::kSystemNotReady:
            return "fabric-manager-not-ready";
        default:
            return "api-refused";
    }
}

Answer refused(const Symbols& api, std::string_view call, cuda::CudaResult code) {
    const char* words = nullptr;
    if (api.error_name)
        (void)api.error_name(code, &words);  // leaves words null for unknown codes
    const auto note = std::string{call} + ": " + scrubbed(words ? words : "unknown code") + " (" +
                      std::to_string(code) + ")";
    const bool not_there = code == cuda::kNoDevice || code == cuda::kStubLibrary;
    Answer answer{.outcome = not_there ? Outcome::Absent : Outcome::Failed,
                  .note = note,
                  .reasons = {because(reason_for(code), {{"call", call}, {"code", code}})}};
    add_denial(kNvidiaControl, answer.reasons);
    return answer;
}

void send_runtime(const Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime;
    runtime["loader"] = library.path().value_or(library.name());
    int version = 0;
    if (api.driver_version(&version) == kSuccess && version > 0)
        runtime["version"] =
            std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    sink.runtime(runtime);
}

Answer visit_cuda(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    sink.phase("dlopen");
    const auto library = DynamicLibrary::open("libcuda.so.1");
    if (!library) {
        const bool absent = library.error().code == ErrorCode::NotFound;
        return Answer{.outcome = absent ? Outcome::Absent : Outcome::Failed,
                      .note = library.error().text};
    }
    const auto api = cuda::load(*library);
    if (!api)
        return Answer{.outcome = Outcome::Failed, .note = api.error().text};
    send_runtime(*api, *library, sink);
    sink.phase("instance");
    if (const auto code = api->init(0); code != kSuccess)
        return refused(*api, "cuInit", code);
    sink.phase("enumerate");
    int count = 0;
    if (const auto code = api->device_count(&count); code != kSuccess)
        return refused(*api, "cuDeviceGetCount", code);
    sink.phase("query");
    for (int index = 0; index < std::clamp(count, 0, kMaxDevices); ++index) {
        Device device = 0;
        if (api->device_get(&device, index) != kSuccess)
            continue;
        const auto facts = device_facts(*api, device, index);
        if (!visit(facts, [&] { return open_cuda(*library, *api, device, facts); }))
            return {};
    }
    return {};
}

}  // namespace

Answer query_cuda(const ProbeTarget& target, Sink& sink) {
    return tell_devices(visit_cuda, target, sink);
}

Answer verify_cuda(const ProbeTarget& target, Sink& sink) {
    start_only_wanted(target);
    return run_stage(visit_cuda, verify_device, target, sink);
}

Answer measure_cuda(const ProbeTarget& target, Sink& sink) {
    start_only_wanted(target);
    return run_stage(visit_cuda, measure_device, target, sink);
}

}  // namespace gpuprobe
