// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/driver_library.h"
#include "backends/level_zero/facts.h"
#include "backends/level_zero/level_zero.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
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
