// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/sysman.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/level_zero/level_zero_device.h"
#include "backends/level_zero/level_zero_names.h"
#include "backends/level_zero/sysman_abi.h"
#include "backends/texts.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

using zes::Device;
using zes::Driver;
using zes::kSuccess;
using zes::Symbols;

constexpr std::string_view kApi = "level_zero_sysman";
constexpr std::uint32_t kMaxDrivers = 16;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::uint32_t kMaxMemories = 64;

/// Sums over the memories on the board; a state that is refused leaves its sum unknown.
struct Memory {
    std::uint64_t physical = 0;
    std::uint64_t size = 0;
    std::uint64_t free = 0;
    bool has_state = true;  ///< of every module; without it size and free are no sums
    zes::Health health = zes::Health::Unknown;
};

std::string_view health_word(zes::Health health) {
    constexpr std::array<std::string_view, 5> kWords = {"unknown", "ok", "degraded", "critical",
                                                        "replace"};
    const auto number = static_cast<std::size_t>(health);
    return number < kWords.size() ? kWords[number] : kWords.front();
}

/// Hears of devices, and keeps one fact of one of them.
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

template <class Handle, class Query>
zes::Result handles(Query query, std::uint32_t limit, std::vector<Handle>& list) {
    std::uint32_t count = 0;
    if (const auto code = query(&count, nullptr); code != kSuccess)
        return code;
    count = std::min(count, limit);
    list.assign(count, nullptr);
    if (count == 0)
        return kSuccess;
    const auto code = query(&count, list.data());
    list.resize(code == kSuccess ? std::min<std::size_t>(count, list.size()) : 0);
    return code;
}

void add_module(const Symbols& api, zes::Memory module, Memory& sums) {
    zes::MemoryProperties properties;
    if (api.memory_properties(module, &properties) != kSuccess ||
        properties.location != zes::kOnDevice)
        return;
    sums.physical += properties.physical_size;
    zes::MemoryState state;
    if (api.memory_state(module, &state) != kSuccess) {
        sums.has_state = false;
        return;
    }
    sums.size += state.size;
    sums.free += state.free;
    sums.health = std::max(sums.health, state.health);
}

/// Without CAP_PERFMON the kernel calls everything free, so a GPU on which nothing is used has not
/// been counted. Source: Linux, drivers/gpu/drm/i915/i915_query.c; oneapi-src/level-zero, issue
/// 133.
void add_memory(const Symbols& api, Device device, DeviceFacts& facts) {
    std::vector<zes::Memory> modules;
    const auto query = [&](std::uint32_t* count, zes::Memory* list) {
        return api.memories(device, count, list);
    };
    Memory sums;
    if (handles(query, kMaxMemories, modules) == kSuccess)
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

DeviceFacts device_facts(const Symbols& api, Device device, std::uint32_t index) {
    DeviceFacts facts{.index = index};
    zes::DeviceProperties properties;
    if (const auto code = api.device_properties(device, &properties); code == kSuccess) {
        add_level_zero_identity(properties.core, facts);
        facts.extra["driver_version"] =
            to_value(clean_text({properties.driver_version, sizeof properties.driver_version}));
        facts.extra["tiles"] = properties.subdevices;
    } else {
        facts.extra["error"] =
            to_value(level_zero_refusal(kApi, "zesDeviceGetProperties", code).note);
    }
    zes::PciProperties pci;
    if (api.pci_properties(device, &pci) == kSuccess)
        facts.pci = pci_address(pci.domain, pci.bus, pci.device, pci.function);
    add_memory(api, device, facts);
    return facts;
}

Answer ask(const Symbols& api, Sink& sink) {
    sink.phase("instance");
    if (const auto code = api.init(0); code != kSuccess)
        return level_zero_refusal(kApi, "zesInit", code);
    sink.phase("enumerate");
    std::vector<Driver> drivers;
    if (const auto code = handles(api.driver_get, kMaxDrivers, drivers); code != kSuccess)
        return level_zero_refusal(kApi, "zesDriverGet", code);
    sink.phase("query");
    std::uint32_t index = 0;
    for (auto* const driver : drivers) {
        std::vector<Device> devices;
        const auto query = [&](std::uint32_t* count, Device* list) {
            return api.device_get(driver, count, list);
        };
        (void)handles(query, kMaxDevices, devices);  // a driver that refuses has no devices to list
        for (auto* const device : devices)
            sink.device(device_facts(api, device, index++));
    }
    return index > 0 ? Answer{}
                     : without_devices("no driver lists a device", {{"api", Value{kApi}}});
}

}  // namespace

Answer query_level_zero_sysman(const ProbeTarget&, Sink& sink) {
    // The old form of this API in the same process is not supported (compute-runtime, SYSMAN.md).
    (void)::unsetenv("ZES_ENABLE_SYSMAN");
    sink.phase("dlopen");
    const auto library = DynamicLibrary::open("libze_loader.so.1");
    if (!library) {
        const bool absent = library.error().code == ErrorCode::NotFound;
        return Answer{.outcome = absent ? Outcome::Absent : Outcome::Failed,
                      .note = library.error().text};
    }
    const auto api = zes::load(*library);
    if (!api)
        return Answer{.outcome = Outcome::Absent, .note = api.error().text};
    Value runtime;
    runtime["loader"] = library->path().value_or(library->name());
    sink.runtime(runtime);
    return ask(*api, sink);
}

std::optional<Bytes> sysman_free_memory(const PciAddress& address) {
    FreeMemorySink sink{address};
    (void)query_level_zero_sysman(ProbeTarget{.api = std::string{kApi}}, sink);
    return sink.free();
}

}  // namespace gpuprobe::backends
