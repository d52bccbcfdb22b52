// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/compute/stages.h"
#include "backends/level_zero/compute.h"
#include "backends/level_zero/level_zero_abi.h"
#include "backends/level_zero/level_zero_device.h"
#include "backends/level_zero/level_zero_names.h"
#include "backends/texts.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

using ze::Driver;
using ze::kSuccess;
using ze::Symbols;

constexpr std::string_view kApi = "level_zero";
constexpr std::uint32_t kMaxDrivers = 16;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxComponents = 16;

/// The drivers of one kind, or why there are none.
struct Drivers {
    std::vector<Driver> found = {};
    std::string_view call = {};
    ze::Result code = kSuccess;
};

/// Tells the driver, before it is loaded, to list each physical GPU once and in the order of PCI
/// addresses: the order does not then depend on its opinion of speed. A caller's settings stand.
/// Source: Level Zero specification, "Environment Variables".
void prepare_environment() {
    constexpr int kKeepCallers = 0;
    (void)::setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE", kKeepCallers);
    (void)::setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", kKeepCallers);
}

/// A list that is asked for its length first.
template <class Item, class Query>
ze::Result listed(Query query, std::uint32_t limit, std::vector<Item>& items) {
    std::uint32_t count = 0;
    if (const auto code = query(&count, nullptr); code != kSuccess)
        return code;
    count = std::min(count, limit);
    items.assign(count, Item{});
    if (count == 0)
        return kSuccess;
    const auto code = query(&count, items.data());
    items.resize(code == kSuccess ? std::min<std::size_t>(count, items.size()) : 0);
    return code;
}

Drivers drivers_of(const Symbols& api, std::uint32_t kind) {
    Drivers drivers{.call = "zeInitDrivers"};
    ze::InitDriverTypeDesc wanted{.flags = kind};
    const auto query = [&](std::uint32_t* count, Driver* list) {
        return api.init_drivers(count, list, &wanted);
    };
    drivers.code = listed(query, kMaxDrivers, drivers.found);
    return drivers;
}

/// Loaders before 1.10.
Drivers gpu_drivers_of_old_loader(const Symbols& api) {
    Drivers drivers{.call = "zeInit", .code = api.init(ze::kInitGpuOnly)};
    if (drivers.code != kSuccess)
        return drivers;
    drivers.call = "zeDriverGet";
    drivers.code = listed(api.driver_get, kMaxDrivers, drivers.found);
    return drivers;
}

void send_loader_version(const Symbols& api, Sink& sink) {
    std::array<ze::ComponentVersion, kMaxComponents> components = {};
    std::size_t count = 0;
    if (!api.loader_versions || api.loader_versions(&count, nullptr) != kSuccess)
        return;
    count = std::min(count, components.size());
    if (api.loader_versions(&count, components.data()) != kSuccess)
        return;
    for (const auto& component : std::span{components}.first(std::min(count, components.size()))) {
        const std::string_view name{component.name, sizeof component.name};
        if (clean_text(name) != "loader")
            continue;
        Value runtime;
        runtime["version"] = std::to_string(component.major) + "." +
                             std::to_string(component.minor) + "." +
                             std::to_string(component.patch);
        return sink.runtime(runtime);
    }
}

bool has_extension(const Symbols& api, Driver driver, std::string_view name) {
    constexpr std::uint32_t kMaxExtensions = 1024;
    std::vector<ze::ExtensionProperties> extensions;
    const auto query = [&](std::uint32_t* count, ze::ExtensionProperties* list) {
        return api.extensions(driver, count, list);
    };
    if (listed(query, kMaxExtensions, extensions) != kSuccess)
        return false;
    return std::ranges::any_of(extensions, [&](const auto& extension) {
        return clean_text({extension.name, sizeof extension.name}) == name;
    });
}

LevelZeroDriver described(const Symbols& api, Driver handle) {
    LevelZeroDriver driver;
    std::uint32_t version = 0;
    if (api.api_version(handle, &version) == kSuccess)
        driver.api_version = level_zero_version(version);
    ze::DriverProperties properties;
    if (api.driver_properties(handle, &properties) == kSuccess)
        driver.driver_version = level_zero_driver_version(properties.version);
    driver.knows_ip_version = has_extension(api, handle, ze::kIpVersionExtension);
    return driver;
}

/// Devices of every driver, numbered on from `index`; false when `visit` has seen enough.
bool visit_devices(const Symbols& api,
                   const DynamicLibrary& library,
                   const Drivers& drivers,
                   std::uint32_t& index,
                   const VisitDevice& visit) {
    for (auto* const handle : drivers.found) {
        std::vector<ze::Device> devices;
        const auto query = [&](std::uint32_t* count, ze::Device* list) {
            return api.device_get(handle, count, list);
        };
        if (listed(query, kMaxDevices, devices) != kSuccess)
            continue;
        const auto driver = described(api, handle);
        for (auto* const device : devices) {
            const auto facts = level_zero_facts(api, device, driver, index++);
            if (!visit(facts, [&] { return open_level_zero(library, handle, device, facts); }))
                return false;
        }
    }
    return true;
}

Answer ask(const Symbols& api,
           const DynamicLibrary& library,
           Sink& sink,
           const VisitDevice& visit) {
    std::uint32_t devices = 0;
    sink.phase("instance");
    const auto gpus =
        api.init_drivers ? drivers_of(api, ze::kDriverTypeGpu) : gpu_drivers_of_old_loader(api);
    send_loader_version(api, sink);
    sink.phase("query");
    if (!visit_devices(api, library, gpus, devices, visit))
        return {};
    if (api.init_drivers) {
        // After the GPUs, so that a bad NPU driver can not take their answers with it.
        sink.phase("npu");
        if (!visit_devices(api, library, drivers_of(api, ze::kDriverTypeNpu), devices, visit))
            return {};
    }
    if (gpus.code != kSuccess && (devices == 0 || gpus.code != ze::kUninitialized))
        return level_zero_refusal(kApi, gpus.call, gpus.code);
    return devices > 0 ? Answer{}
                       : without_devices("no driver lists a device", {{"api", Value{kApi}}});
}

}  // namespace

Answer visit_level_zero(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    prepare_environment();
    sink.phase("dlopen");
    const auto library = DynamicLibrary::open("libze_loader.so.1");
    if (!library) {
        const bool absent = library.error().code == ErrorCode::NotFound;
        return Answer{.outcome = absent ? Outcome::Absent : Outcome::Failed,
                      .note = library.error().text};
    }
    const auto api = ze::load(*library);
    if (!api)
        return Answer{.outcome = Outcome::Failed, .note = api.error().text};
    Value runtime;
    runtime["loader"] = library->path().value_or(library->name());
    sink.runtime(runtime);
    return ask(*api, *library, sink, visit);
}

}  // namespace gpuprobe::backends
