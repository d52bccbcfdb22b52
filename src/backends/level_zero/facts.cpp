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

using ze::Symbols;

constexpr std::uint32_t kMaxMemories = 64;
constexpr std::uint64_t kHertzPerMegahertz = 1'000'000;

/// `Address` is ze_pci_address_ext_t or zes_pci_address_t.
template <class Address>
std::optional<PciAddress> address_of(const Address& address) {
    return pci_address(address.domain, address.bus, address.device, address.function);
}

/// Adds the PCI address. Old loaders lack the function that reports the address.
void add_pci(const Symbols& api, ze_device_handle_t device, DeviceFacts& facts) {
    auto pci = ze::made<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
    if (api.pci_properties && api.pci_properties(device, &pci) == ZE_RESULT_SUCCESS)
        facts.pci = address_of(pci.address);
}

/// Adds the total size of the memories. Each tile has one memory.
void add_memory(const Symbols& api, ze_device_handle_t device, DeviceFacts& facts) {
    std::vector<ze_device_memory_properties_t> memories;
    const auto query = [&](std::uint32_t* count, ze_device_memory_properties_t* list) {
        return api.memory_properties(device, count, list);
    };
    (void)ze::listed(query, kMaxMemories, memories,
                     ze::made<ze_device_memory_properties_t>(
                         ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES));  // empty if the call fails
    std::uint64_t total = 0;
    for (const auto& memory : memories)
        total += memory.totalSize;
    if (total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
}

/// Adds the features that kernels can use; unknown features become null.
void add_modules(const Symbols& api, ze_device_handle_t device, DeviceFacts& facts) {
    auto modules =
        ze::made<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
    const bool known = api.module_properties(device, &modules) == ZE_RESULT_SUCCESS;
    const auto flag = [&](std::uint32_t bit) {
        return known ? Value{(modules.flags & bit) != 0} : Value{};
    };
    facts.extra["spirv_version"] = to_value(level_zero_version(modules.spirvVersionSupported));
    facts.extra["fp16"] = flag(ZE_DEVICE_MODULE_FLAG_FP16);
    facts.extra["fp64"] = flag(ZE_DEVICE_MODULE_FLAG_FP64);
    facts.extra["int64_atomics"] = flag(ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS);
    facts.extra["integer_dot_product"] = flag(ZE_DEVICE_MODULE_FLAG_DP4A);
}

/// Adds the number and kind of execution units.
void add_shape(const ze_device_properties_t& properties, DeviceFacts& facts) {
    const auto units = std::uint64_t{properties.numSlices} * properties.numSubslicesPerSlice *
                       properties.numEUsPerSubslice;
    facts.extra["execution_units"] = unless_zero(units);
    facts.extra["threads_per_execution_unit"] = unless_zero(properties.numThreadsPerEU);
    facts.extra["simd_width"] = unless_zero(properties.physicalEUSimdWidth);
    facts.extra["clock_hz"] = unless_zero(properties.coreClockRate * kHertzPerMegahertz);
    facts.extra["max_memory_allocation_size"] = unless_zero(properties.maxMemAllocSize);
    facts.extra["ecc"] = (properties.flags & ZE_DEVICE_PROPERTY_FLAG_ECC) != 0;
}

/// The names of error codes. Source: ze_api.h, ze_result_t.
constexpr std::array<NumberWord, 10> kCodes = {{
    {ZE_RESULT_ERROR_DEVICE_LOST, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    {ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {ZE_RESULT_ERROR_UNINITIALIZED, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {ZE_RESULT_ERROR_UNSUPPORTED_VERSION, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
}};

/// Adds the facts from the properties that Sysman and the core API have in common.
void add_level_zero_identity(const ze_device_properties_t& properties, DeviceFacts& facts) {
    facts.name = clean_text({properties.name, sizeof properties.name});
    facts.vendor_id = pci_id_text(properties.vendorId);
    facts.device_id = pci_id_text(properties.deviceId);
    facts.uuid = canonical_uuid(properties.uuid.id);
    facts.type = level_zero_type(properties.type, properties.flags);
    facts.extra["device_type"] = to_value(level_zero_kind_word(properties.type));
}

}  // namespace

DeviceFacts level_zero_facts(const Symbols& api,
                             ze_device_handle_t device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index) {
    DeviceFacts facts{.index = index};
    facts.extra["api_version"] = to_value(driver.api_version);
    facts.extra["driver_version"] = to_value(driver.driver_version);
    auto properties = ze::made<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
    ze::IpVersionExt ip;
    // A driver that does not know a chained structure may reject the call.
    if (driver.knows_ip_version)
        properties.pNext = &ip;
    if (const auto code = api.device_properties(device, &properties); code != ZE_RESULT_SUCCESS) {
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

std::optional<std::string> level_zero_kind_word(ze_device_type_t kind) {
    constexpr std::array<std::string_view, 6> kWords = {"", "gpu", "cpu", "fpga", "mca", "npu"};
    const auto number = static_cast<std::uint32_t>(kind);
    if (number == 0)
        return std::nullopt;
    if (number >= kWords.size())
        return std::to_string(number);
    return std::string{kWords[number]};
}

std::optional<DeviceType> level_zero_type(ze_device_type_t kind, std::uint32_t flags) {
    if (kind == ze_device_type_t{})
        return std::nullopt;
    if (kind == ZE_DEVICE_TYPE_CPU)
        return DeviceType::Cpu;
    if (kind != ZE_DEVICE_TYPE_GPU)
        return DeviceType::Other;
    return flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED ? DeviceType::Integrated
                                                      : DeviceType::Discrete;
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
    // Either no driver is installed, or no driver has found a device.
    if (code == ZE_RESULT_ERROR_UNINITIALIZED)
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
    bool has_state = true;  ///< false if a module has no state: size and free are then incomplete
    zes_mem_health_t health = ZES_MEM_HEALTH_UNKNOWN;
};

/// The name of a health state.
std::string_view health_word(zes_mem_health_t health) {
    constexpr std::array<std::string_view, 5> kWords = {"unknown", "ok", "degraded", "critical",
                                                        "replace"};
    const auto number = static_cast<std::size_t>(health);
    return number < kWords.size() ? kWords[number] : kWords.front();
}

/// A sink that stores the free memory of one device and ignores everything else.
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

/// Adds a memory module to the sums if the module is on the device.
void add_module(const zes::Symbols& api, zes_mem_handle_t module, Memory& sums) {
    auto properties = ze::made<zes_mem_properties_t>(ZES_STRUCTURE_TYPE_MEM_PROPERTIES);
    if (api.memory_properties(module, &properties) != ZE_RESULT_SUCCESS ||
        properties.location != ZES_MEM_LOC_DEVICE)
        return;
    sums.physical += properties.physicalSize;
    auto state = ze::made<zes_mem_state_t>(ZES_STRUCTURE_TYPE_MEM_STATE);
    if (api.memory_state(module, &state) != ZE_RESULT_SUCCESS) {
        sums.has_state = false;
        return;
    }
    sums.size += state.size;
    sums.free += state.free;
    // The worst state is reported; see zes_mem_health_t.
    sums.health = std::max(sums.health, state.health);
}

/// Adds the memory facts. Without CAP_PERFMON the kernel reports all memory as free, so if nothing
/// is used, the free memory counts as unknown. Source: Linux, drivers/gpu/drm/i915/i915_query.c;
/// oneapi-src/level-zero, issue 133.
void add_memory(const zes::Symbols& api, zes_device_handle_t device, DeviceFacts& facts) {
    std::vector<zes_mem_handle_t> modules;
    const auto query = [&](std::uint32_t* count, zes_mem_handle_t* list) {
        return api.memories(device, count, list);
    };
    Memory sums;
    if (ze::listed(query, kMaxMemoryModules, modules) == ZE_RESULT_SUCCESS)
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

Answer refused(const char* function, ze::Code code) {
    return level_zero_refusal(kSysman, function, code);
}

DeviceFacts device_facts(const zes::Symbols& api, zes_device_handle_t device, std::uint32_t index) {
    DeviceFacts facts{.index = index};
    auto properties = ze::made<zes_device_properties_t>(ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES);
    if (const auto code = api.device_properties(device, &properties); code == ZE_RESULT_SUCCESS) {
        add_level_zero_identity(properties.core, facts);
        facts.extra["driver_version"] =
            to_value(clean_text({properties.driverVersion, sizeof properties.driverVersion}));
        facts.extra["tiles"] = properties.numSubdevices;
    } else {
        facts.extra["error"] = to_value(refused(api.device_properties.name, code).note);
    }
    // Even without the other properties, the address identifies the device.
    auto pci = ze::made<zes_pci_properties_t>(ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
    if (api.pci_properties(device, &pci) == ZE_RESULT_SUCCESS)
        facts.pci = address_of(pci.address);
    add_memory(api, device, facts);
    return facts;
}

/// Reports the devices of all drivers.
Answer query_devices_of(const zes::Symbols& api, Sink& sink) {
    sink.phase("instance");
    (void)TRY(call(refused, api.init, 0U));
    sink.phase("enumerate");
    std::vector<zes_driver_handle_t> drivers;
    if (const auto code = ze::listed(api.driver_get, kMaxSysmanDrivers, drivers);
        code != ZE_RESULT_SUCCESS)
        return refused(api.driver_get.name, code);
    sink.phase("query");
    std::uint32_t index = 0;
    for (auto* const driver : drivers) {
        std::vector<zes_device_handle_t> devices;
        const auto query = [&](std::uint32_t* count, zes_device_handle_t* list) {
            return api.device_get(driver, count, list);
        };
        // A driver that fails is treated like a driver without devices.
        (void)ze::listed(query, kMaxSysmanDevices, devices);
        for (auto* const device : devices)
            sink.device(device_facts(api, device, index++));
    }
    return index > 0 ? Answer{}
                     : without_devices("no driver lists a device", {{"api", Value{kSysman}}});
}

}  // namespace

Answer query_level_zero_sysman(const ProbeTarget&, Sink& sink) {
    // ZES_ENABLE_SYSMAN enables the old form of Sysman. One process must not use both forms of
    // Sysman (compute-runtime, SYSMAN.md).
    (void)::unsetenv("ZES_ENABLE_SYSMAN");
    const auto library = TRY(open_library(kLevelZeroLoader, sink));
    const auto api = load<zes::Symbols>(library);
    // An old loader lacks Sysman.
    if (!api)
        return Answer{.outcome = Outcome::Absent, .note = api.error().text};
    sink.runtime(runtime_of(library));
    return query_devices_of(*api, sink);
}

std::optional<Bytes> sysman_free_memory(const PciAddress& address) {
    FreeMemorySink sink{address};
    // After a failure, the sink is empty.
    (void)query_level_zero_sysman(ProbeTarget{.api = std::string{kSysman}}, sink);
    return sink.free();
}

}  // namespace gpuprobe::backends
