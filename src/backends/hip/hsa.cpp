// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "backends/driver_library.h"
#include "backends/hip/hip.h"
#include "backends/texts.h"
#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::size_t kSerialDigits = 16;
constexpr unsigned kMajorStep = 10'000'000;
constexpr unsigned kMinorStep = 100'000;

}  // namespace

std::optional<std::string> rocm_uuid(std::string_view text) {
    constexpr std::string_view kHead = "GPU-";
    if (text.starts_with(kHead))
        text.remove_prefix(kHead.size());
    const auto digits = lower_case(text);
    if (digits.size() != kSerialDigits ||
        digits.find_first_not_of("0123456789abcdef") != std::string::npos ||
        digits.find_first_not_of('0') == std::string::npos)
        return std::nullopt;
    return std::string{kHead} + digits;
}

PciAddress rocm_address(std::uint32_t domain, std::uint32_t location) {
    return PciAddress{.domain = domain,
                      .bus = static_cast<std::uint8_t>(location >> 8U & 0xffU),
                      .device = static_cast<std::uint8_t>(location >> 3U & 0x1fU),
                      .function = static_cast<std::uint8_t>(location & 0x7U)};
}

std::optional<std::string> hip_version_text(int version) {
    if (version <= 0)
        return std::nullopt;
    const auto number = static_cast<unsigned>(version);
    return dotted({number / kMajorStep, number % kMajorStep / kMinorStep, number % kMinorStep});
}

namespace {

constexpr std::size_t kMaxAgents = 256;  // including agents that are processors
constexpr std::size_t kMaxPools = 64;
constexpr std::size_t kMaxText = 256;  // the longest known string has 64 bytes
constexpr std::uint64_t kHertzPerMegahertz = 1'000'000;
constexpr const char* kKfd = "/dev/kfd";

/// An agent attribute of type uint32_t, the fact that is derived from it, and the factor between
/// their units.
struct AttributeFact {
    hsa::Attribute attribute;
    std::string_view key;
    std::uint64_t unit = 1;
};
constexpr std::array<AttributeFact, 6> kAttributes = {{
    {hsa::Attribute::ComputeUnitCount, "compute_units"},
    {hsa::Attribute::WavefrontSize, "wavefront_size"},
    {hsa::Attribute::MaxClockFrequency, "clock_hz", kHertzPerMegahertz},
    {hsa::Attribute::MemoryMaxFrequency, "memory_clock_hz", kHertzPerMegahertz},
    {hsa::Attribute::MemoryWidth, "memory_bus_bits"},
    {hsa::Attribute::DriverNodeId, "kfd_node"},
}};

/// The items that an iteration found. Because C code calls add(), add() must not throw, so the size
/// is fixed.
template <class T, std::size_t limit>
struct Found {
    std::array<T, limit> items = {};
    std::size_t count = 0;

    static hsa::Status add(T item, void* found) noexcept {
        auto& self = *static_cast<Found*>(found);
        if (self.count == limit)
            return hsa::kBreak;
        self.items[self.count++] = item;
        return hsa::kSuccess;
    }
};
using Agents = Found<hsa::Agent, kMaxAgents>;
using Pools = Found<hsa::MemoryPool, kMaxPools>;

/// An attribute of an agent; nullopt if the runtime does not support it.
template <class T>
std::optional<T> attribute(const hsa::Symbols& api, hsa::Agent agent, hsa::Attribute which) {
    T value{};
    if (api.agent_info(agent, static_cast<int>(which), &value) != hsa::kSuccess)
        return std::nullopt;
    return value;
}

/// A string attribute. The runtime does not know the size of the buffer, so a large buffer is used.
std::optional<std::string> text(const hsa::Symbols& api, hsa::Agent agent, hsa::Attribute which) {
    const auto buffer = attribute<std::array<char, kMaxText>>(api, agent, which);
    return buffer ? clean_text({buffer->data(), buffer->size()}) : std::nullopt;
}

template <class T>
std::optional<T> pool_attribute(const hsa::Symbols& api,
                                hsa::MemoryPool pool,
                                hsa::PoolAttribute which) {
    T value{};
    if (api.pool_info(pool, static_cast<int>(which), &value) != hsa::kSuccess)
        return std::nullopt;
    return value;
}

/// The size of the largest global memory pool. The fine-grained and coarse-grained pools are views
/// of the same memory, so they must not be added up.
std::optional<Bytes> total_memory(const hsa::Symbols& api, hsa::Agent agent) {
    Pools pools;
    // After a failure, use the pools found so far.
    (void)api.iterate_pools(agent, &Pools::add, &pools);
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < pools.count; ++i) {
        const auto pool = pools.items[i];
        const auto segment = pool_attribute<std::uint32_t>(api, pool, hsa::PoolAttribute::Segment);
        const auto size = pool_attribute<std::size_t>(api, pool, hsa::PoolAttribute::Size);
        if (segment == hsa::kSegmentGlobal && size)
            largest = std::max<std::uint64_t>(largest, *size);
    }
    return largest > 0 ? std::optional{Bytes{largest}} : std::nullopt;
}

void add_memory(const hsa::Symbols& api, hsa::Agent agent, DeviceFacts& facts) {
    const auto total = total_memory(api, agent);
    if (!total)
        return;
    facts.memory = FactMemory{.total = total};
    // Old runtimes lack this attribute; ignore impossible values.
    const auto free = attribute<std::uint64_t>(api, agent, hsa::Attribute::MemoryAvailable);
    if (free && *free <= total->count)
        facts.memory->free = Bytes{*free};
}

/// The type of a GPU; nullopt with old runtimes, which lack the attribute.
std::optional<DeviceType> type_of(const hsa::Symbols& api, hsa::Agent agent) {
    const auto flags =
        attribute<std::array<std::uint8_t, 8>>(api, agent, hsa::Attribute::MemoryProperties);
    if (!flags)
        return std::nullopt;
    return flags->front() & hsa::kIsApu ? DeviceType::Integrated : DeviceType::Discrete;
}

DeviceFacts device_facts(const hsa::Symbols& api, hsa::Agent agent, std::uint32_t index) {
    DeviceFacts facts;
    facts.index = index;
    facts.name = text(api, agent, hsa::Attribute::ProductName);
    facts.vendor_id = "1002";
    facts.device_id =
        pci_id_text(attribute<std::uint32_t>(api, agent, hsa::Attribute::ChipId).value_or(0));
    const auto location = attribute<std::uint32_t>(api, agent, hsa::Attribute::Bdfid);
    if (location)
        facts.pci = rocm_address(
            attribute<std::uint32_t>(api, agent, hsa::Attribute::Domain).value_or(0), *location);
    facts.uuid = rocm_uuid(text(api, agent, hsa::Attribute::Uuid).value_or(""));
    facts.type = type_of(api, agent);
    add_memory(api, agent, facts);
    facts.extra["gfx_target"] =
        to_value(gfx_target_in(text(api, agent, hsa::Attribute::Name).value_or("")));
    for (const auto& fact : kAttributes) {
        const auto value = attribute<std::uint32_t>(api, agent, fact.attribute);
        facts.extra[fact.key] = value ? Value{*value * fact.unit} : Value{};
    }
    return facts;
}

/// Reports the version of the HSA interface ("1.14") and the library's build. The version of ROCm
/// is in a separate file.
void send_hsa_runtime(const hsa::Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime{Value::Object{{"route", Value{"hsa"}}}};
    runtime["loader"] = runtime_of(library).at("loader");
    std::uint16_t major = 0;
    std::uint16_t minor = 0;
    const auto ask = [&](hsa::SystemAttribute which, void* value) {
        return api.system_info(static_cast<int>(which), value) == hsa::kSuccess;
    };
    if (ask(hsa::SystemAttribute::VersionMajor, &major) &&
        ask(hsa::SystemAttribute::VersionMinor, &minor))
        runtime["version"] = dotted({major, minor});
    const char* build = nullptr;
    if (ask(hsa::SystemAttribute::BuildVersion, &build) && build)
        runtime["build"] = scrubbed(build);
    const auto release = RootedFiles{}.line("/opt/rocm/.info/version");
    runtime["rocm_version"] = release ? Value{scrubbed(*release)} : Value{};
    sink.runtime(runtime);
}

/// The answer for a failed call.
Answer refused(const hsa::Symbols& api, const char* function, hsa::Status code) {
    const char* words = nullptr;
    (void)api.status_string(code, &words);  // `words` stays null for an unknown code
    return answer_of(refused_call("api-refused", function,
                                  scrubbed(words ? words : "unknown code") + " (0x" +
                                      hexadecimal(static_cast<unsigned>(code), 4) + ")",
                                  code));
}

/// The answer for a failed hsa_init. hsa_init returns "out of resources" both if /dev/kfd is
/// missing and if it cannot be opened, so this function checks which case applies.
Answer init_refused(const hsa::Symbols& api, const char* function, hsa::Status code) {
    auto answer = refused(api, function, code);
    if (code != hsa::kOutOfResources)
        return answer;
    if (::access(kKfd, F_OK) != 0)
        return without_devices(*answer.note + "; no " + kKfd, {{"api", "hip"}});
    if (::faccessat(AT_FDCWD, kKfd, R_OK | W_OK, AT_EACCESS) != 0)
        answer.reasons = {because("no-permission", {{"node", kKfd}})};
    add_denial(kKfd, answer.reasons);
    return answer;
}

}  // namespace

Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit) {
    const auto api = TRY(query_functions<hsa::Symbols>(library));
    sink.phase("instance");
    (void)TRY(
        call([&](const char* name, hsa::Status code) { return init_refused(api, name, code); },
             api.init));
    send_hsa_runtime(api, library, sink);
    sink.phase("enumerate");
    Agents agents;
    const auto code = api.iterate_agents(&Agents::add, &agents);
    // kBreak: there are more agents than we can store.
    if (code != hsa::kSuccess && code != hsa::kBreak)
        return refused(api, api.iterate_agents.name, code);
    sink.phase("query");
    std::uint32_t gpus = 0;
    for (std::size_t i = 0; i < agents.count; ++i) {
        const auto kind = attribute<std::uint32_t>(api, agents.items[i], hsa::Attribute::Device);
        if (kind == hsa::kDeviceTypeGpu && !visit(device_facts(api, agents.items[i], gpus++), {}))
            return {};
    }
    return gpus > 0 ? Answer{} : without_devices("no GPU among the HSA agents", {{"api", "hip"}});
}

}  // namespace gpuprobe::backends
