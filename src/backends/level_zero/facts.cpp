// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/driver_library.h"
#include "backends/level_zero/level_zero.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

using ze::Device;
using ze::kSuccess;
using ze::Symbols;

constexpr std::uint32_t kMaxMemories = 64;
constexpr std::uint64_t kHertzPerMegahertz = 1'000'000;

/// Adds the PCI address; old loaders lack the function.
void add_pci(const Symbols& api, Device device, DeviceFacts& facts) {
    ze::PciExtProperties pci;
    if (api.pci_properties && api.pci_properties(device, &pci) == kSuccess)
        facts.pci = pci_address(pci.domain, pci.bus, pci.device, pci.function);
}

/// Adds the sum of the memories, of which each tile has one.
void add_memory(const Symbols& api, Device device, DeviceFacts& facts) {
    std::vector<ze::MemoryProperties> memories;
    const auto query = [&](std::uint32_t* count, ze::MemoryProperties* list) {
        return api.memory_properties(device, count, list);
    };
    (void)ze::listed(query, kMaxMemories, memories);  // empty if it fails
    std::uint64_t total = 0;
    for (const auto& memory : memories)
        total += memory.total_size;
    if (total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
}

/// Adds the features that kernels can use; null if unknown.
void add_modules(const Symbols& api, Device device, DeviceFacts& facts) {
    ze::ModuleProperties modules;
    const bool known = api.module_properties(device, &modules) == kSuccess;
    const auto flag = [&](std::uint32_t bit) {
        return known ? Value{(modules.flags & bit) != 0} : Value{};
    };
    facts.extra["spirv_version"] = to_value(level_zero_version(modules.spirv_version));
    facts.extra["fp16"] = flag(ze::kModuleFp16);
    facts.extra["fp64"] = flag(ze::kModuleFp64);
    facts.extra["int64_atomics"] = flag(ze::kModuleInt64Atomics);
    facts.extra["integer_dot_product"] = flag(ze::kModuleDp4a);
}

/// Adds the number and kind of execution units.
void add_shape(const ze::DeviceProperties& properties, DeviceFacts& facts) {
    const auto units = std::uint64_t{properties.slices} * properties.subslices_per_slice *
                       properties.eus_per_subslice;
    facts.extra["execution_units"] = unless_zero(units);
    facts.extra["threads_per_execution_unit"] = unless_zero(properties.threads_per_eu);
    facts.extra["simd_width"] = unless_zero(properties.simd_width);
    facts.extra["clock_hz"] = unless_zero(properties.core_clock_mhz * kHertzPerMegahertz);
    facts.extra["max_memory_allocation_size"] = unless_zero(properties.max_memory_allocation_size);
    facts.extra["ecc"] = (properties.flags & ze::kDeviceEcc) != 0;
}

/// The names of error codes. Source: ze_api.h, ze_result_t.
constexpr std::array<NumberWord, 10> kCodes = {{
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {ze::kUninitialized, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
}};

}  // namespace

void add_level_zero_identity(const ze::DeviceProperties& properties, DeviceFacts& facts) {
    facts.name = clean_text({properties.name, sizeof properties.name});
    facts.vendor_id = pci_id_text(properties.vendor_id);
    facts.device_id = pci_id_text(properties.device_id);
    facts.uuid = canonical_uuid(properties.uuid.bytes);
    facts.type = level_zero_type(properties.kind, properties.flags);
    facts.extra["device_type"] = to_value(level_zero_kind_word(properties.kind));
}

DeviceFacts level_zero_facts(const Symbols& api,
                             Device device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index) {
    DeviceFacts facts{.index = index};
    facts.extra["api_version"] = to_value(driver.api_version);
    facts.extra["driver_version"] = to_value(driver.driver_version);
    ze::DeviceProperties properties;
    ze::IpVersionExt ip;
    // A driver that does not know a chained structure may reject the call.
    if (driver.knows_ip_version)
        properties.next = &ip;
    if (const auto code = api.device_properties(device, &properties); code != kSuccess) {
        facts.extra["error"] =
            to_value(level_zero_refusal("level_zero", api.device_properties.name, code).note);
        return facts;
    }
    add_level_zero_identity(properties, facts);
    facts.extra["intel_ip"] = to_value(intel_ip_text(ip.version));
    add_pci(api, device, facts);
    add_memory(api, device, facts);
    add_modules(api, device, facts);
    add_shape(properties, facts);
    return facts;
}

std::optional<std::string> level_zero_kind_word(ze::DeviceKind kind) {
    constexpr std::array<std::string_view, 6> kWords = {"", "gpu", "cpu", "fpga", "mca", "npu"};
    const auto number = static_cast<std::uint32_t>(kind);
    if (number == 0)
        return std::nullopt;
    if (number >= kWords.size())
        return std::to_string(number);
    return std::string{kWords[number]};
}

std::optional<DeviceType> level_zero_type(ze::DeviceKind kind, std::uint32_t flags) {
    if (kind == ze::DeviceKind{})
        return std::nullopt;
    if (kind == ze::DeviceKind::Cpu)
        return DeviceType::Cpu;
    if (kind != ze::DeviceKind::Gpu)
        return DeviceType::Other;
    return flags & ze::kDeviceIntegrated ? DeviceType::Integrated : DeviceType::Discrete;
}

std::optional<std::string> level_zero_version(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return dotted({version >> 16U, version & 0xffffU});
}

std::optional<std::string> level_zero_driver_version(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return dotted({version >> 24U, version >> 16U & 0xffU, version & 0xffffU});
}

std::string level_zero_code_text(ze::Code code) {
    return word_for(kCodes, code).value_or("unknown code") + " (0x" + hexadecimal(code, 8) + ")";
}

Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Code code) {
    const auto refusal = refused_call("api-refused", call, level_zero_code_text(code), code);
    // No driver is installed, or no driver found a device.
    if (code == ze::kUninitialized)
        return without_devices(refusal.note, {{"api", Value{api}}});
    return answer_of(refusal);
}

namespace {

constexpr std::string_view kSysman = "level_zero_sysman";
constexpr std::uint32_t kMaxSysmanDrivers = 16;
constexpr std::uint32_t kMaxSysmanDevices = 64;
constexpr std::uint32_t kMaxMemoryModules = 64;

/// Sums over the memory modules on the device.
struct Memory {
    std::uint64_t physical = 0;
    std::uint64_t size = 0;
    std::uint64_t free = 0;
    bool has_state = true;  ///< false if any module has no state: size and free are incomplete
    zes::Health health = zes::Health::Unknown;
};

/// The word for a state of health.
std::string_view health_word(zes::Health health) {
    constexpr std::array<std::string_view, 5> kWords = {"unknown", "ok", "degraded", "critical",
                                                        "replace"};
    const auto number = static_cast<std::size_t>(health);
    return number < kWords.size() ? kWords[number] : kWords.front();
}

/// A sink that keeps the free memory of one device and drops everything else.
class FreeMemorySink final : public Sink {
public:
    explicit FreeMemorySink(const PciAddress& address) : address_{address} {}

    void phase(std::string_view) override {}
    void runtime(const Value&) override {}
    void device(const DeviceFacts& facts) override {
        if (facts.pci == address_ && facts.memory)
            free_ = facts.memory->free;
    }
    [[nodiscard]] std::optional<Bytes> free() const { return free_; }

private:
    PciAddress address_;
    std::optional<Bytes> free_ = {};
};

/// Adds a memory module to the sums, if it is on the device.
void add_module(const zes::Symbols& api, zes::Memory module, Memory& sums) {
    zes::MemoryProperties properties;
    if (api.memory_properties(module, &properties) != zes::kSuccess ||
        properties.location != zes::kOnDevice)
        return;
    sums.physical += properties.physical_size;
    zes::MemoryState state;
    if (api.memory_state(module, &state) != zes::kSuccess) {
        sums.has_state = false;
        return;
    }
    sums.size += state.size;
    sums.free += state.free;
    // The worst state counts; see zes::Health.
    sums.health = std::max(sums.health, state.health);
}

/// Adds the memory facts. Without CAP_PERFMON the kernel reports all memory as free, so if nothing
/// is used, the free memory counts as unknown. Source: Linux, drivers/gpu/drm/i915/i915_query.c;
/// oneapi-src/level-zero, issue 133.
void add_memory(const zes::Symbols& api, zes::Device device, DeviceFacts& facts) {
    std::vector<zes::Memory> modules;
    const auto query = [&](std::uint32_t* count, zes::Memory* list) {
        return api.memories(device, count, list);
    };
    Memory sums;
    if (ze::listed(query, kMaxMemoryModules, modules) == zes::kSuccess)
        for (auto* const module : modules)
            add_module(api, module, sums);
    facts.extra["memory_physical"] = sums.physical > 0 ? Value{sums.physical} : Value{};
    facts.extra["memory_health"] = health_word(sums.health);
    if (!sums.has_state || sums.size == 0)
        return;
    facts.memory = FactMemory{.total = Bytes{sums.size}};
    if (sums.free < sums.size)
        facts.memory->free = Bytes{sums.free};
}

Answer refused(const char* function, zes::Code code) {
    return level_zero_refusal(kSysman, function, code);
}

DeviceFacts device_facts(const zes::Symbols& api, zes::Device device, std::uint32_t index) {
    DeviceFacts facts{.index = index};
    zes::DeviceProperties properties;
    if (const auto code = api.device_properties(device, &properties); code == zes::kSuccess) {
        add_level_zero_identity(properties.core, facts);
        facts.extra["driver_version"] =
            to_value(clean_text({properties.driver_version, sizeof properties.driver_version}));
        facts.extra["tiles"] = properties.subdevices;
    } else {
        facts.extra["error"] = to_value(refused(api.device_properties.name, code).note);
    }
    // Even without the other properties, the address identifies the device.
    zes::PciProperties pci;
    if (api.pci_properties(device, &pci) == zes::kSuccess)
        facts.pci = pci_address(pci.domain, pci.bus, pci.device, pci.function);
    add_memory(api, device, facts);
    return facts;
}

/// Reports the devices of all drivers.
Answer query_devices_of(const zes::Symbols& api, Sink& sink) {
    sink.phase("instance");
    (void)TRY(call(refused, api.init, 0U));
    sink.phase("enumerate");
    std::vector<zes::Driver> drivers;
    if (const auto code = ze::listed(api.driver_get, kMaxSysmanDrivers, drivers);
        code != zes::kSuccess)
        return refused(api.driver_get.name, code);
    sink.phase("query");
    std::uint32_t index = 0;
    for (auto* const driver : drivers) {
        std::vector<zes::Device> devices;
        const auto query = [&](std::uint32_t* count, zes::Device* list) {
            return api.device_get(driver, count, list);
        };
        // A driver that fails is treated as one without devices.
        (void)ze::listed(query, kMaxSysmanDevices, devices);
        for (auto* const device : devices)
            sink.device(device_facts(api, device, index++));
    }
    return index > 0 ? Answer{}
                     : without_devices("no driver lists a device", {{"api", Value{kSysman}}});
}

}  // namespace

Answer query_level_zero_sysman(const ProbeTarget&, Sink& sink) {
    // This variable enables the old form of Sysman, which must not be used in the same process
    // (compute-runtime, SYSMAN.md).
    (void)::unsetenv("ZES_ENABLE_SYSMAN");
    const auto library = TRY(open_library(kLevelZeroLoader, sink));
    const auto api = load<zes::Symbols>(library);
    // An old loader without Sysman.
    if (!api)
        return Answer{.outcome = Outcome::Absent, .note = api.error().text};
    sink.runtime(runtime_of(library));
    return query_devices_of(*api, sink);
}

std::optional<Bytes> sysman_free_memory(const PciAddress& address) {
    FreeMemorySink sink{address};
    // A failure leaves the sink empty.
    (void)query_level_zero_sysman(ProbeTarget{.api = std::string{kSysman}}, sink);
    return sink.free();
}

}  // namespace gpuprobe::backends
