// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/driver_library.h"
#include "backends/level_zero/compute.h"
#include "backends/level_zero/facts.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

using ze::Driver;
using ze::kSuccess;
using ze::Symbols;

constexpr std::string_view kApi = "level_zero";
constexpr std::uint32_t kMaxDrivers = 16;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxComponents = 16;

/// The drivers for one kind of device, or the failed call and its code.
struct Drivers {
    std::vector<Driver> found = {};
    std::string_view call = {};
    ze::Code code = kSuccess;
};

/// Configures the driver, before it is loaded, to list each physical GPU once and in the order of
/// PCI addresses. By default, the order depends on the driver's estimate of speed. Existing
/// settings are kept. Source: Level Zero specification, "Environment Variables".
void prepare_environment() {
    constexpr int kKeepCallers = 0;
    (void)::setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE", kKeepCallers);
    (void)::setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", kKeepCallers);
}

/// The drivers for one kind of device. Needs init_drivers, which loaders have since 1.10.
Drivers drivers_of(const Symbols& api, std::uint32_t kind) {
    Drivers drivers{.call = api.init_drivers.name};
    ze::InitDriverTypeDesc wanted{.flags = kind};
    const auto query = [&](std::uint32_t* count, Driver* list) {
        return api.init_drivers(count, list, &wanted);
    };
    drivers.code = ze::listed(query, kMaxDrivers, drivers.found);
    return drivers;
}

/// The GPU drivers, with a loader before 1.10.
Drivers gpu_drivers_of_old_loader(const Symbols& api) {
    Drivers drivers{.call = api.init.name, .code = api.init(ze::kInitGpuOnly)};
    if (drivers.code != kSuccess)
        return drivers;
    drivers.call = api.driver_get.name;
    drivers.code = ze::listed(api.driver_get, kMaxDrivers, drivers.found);
    return drivers;
}

/// Reports the version of the loader, which is one of several components.
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
        const auto version =
            dotted({static_cast<unsigned>(component.major), static_cast<unsigned>(component.minor),
                    static_cast<unsigned>(component.patch)});
        return sink.runtime(Value{Value::Object{{"version", Value{version}}}});
    }
}

/// Whether the driver lists an extension.
bool has_extension(const Symbols& api, Driver driver, std::string_view name) {
    constexpr std::uint32_t kMaxExtensions = 1024;
    std::vector<ze::ExtensionProperties> extensions;
    const auto query = [&](std::uint32_t* count, ze::ExtensionProperties* list) {
        return api.extensions(driver, count, list);
    };
    if (ze::listed(query, kMaxExtensions, extensions) != kSuccess)
        return false;
    return std::ranges::any_of(extensions, [&](const auto& extension) {
        return clean_text({extension.name, sizeof extension.name}) == name;
    });
}

/// The facts about a driver.
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

/// Visits the devices of every driver, numbered from `index` on. False if `visit` stopped the
/// enumeration.
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
        // A broken driver must not hide the devices of others.
        if (ze::listed(query, kMaxDevices, devices) != kSuccess)
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

/// Visits the GPUs and, with a loader that lists them separately, the NPUs.
Answer visit_all(const Symbols& api,
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
        // NPUs come after the GPUs, so that a crash of an NPU driver loses no results of GPUs.
        sink.phase("npu");
        if (!visit_devices(api, library, drivers_of(api, ze::kDriverTypeNpu), devices, visit))
            return {};
    }
    // A machine with only an NPU has no GPU driver (kUninitialized), which is fine if a device was
    // found.
    if (gpus.code != kSuccess && (devices == 0 || gpus.code != ze::kUninitialized))
        return level_zero_refusal(kApi, gpus.call, gpus.code);
    return devices > 0 ? Answer{}
                       : without_devices("no driver lists a device", {{"api", Value{kApi}}});
}

}  // namespace

Answer visit_level_zero(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    prepare_environment();
    const auto library = TRY(open_library(kLevelZeroLoader, sink));
    const auto api = TRY(query_functions<Symbols>(library));
    sink.runtime(runtime_of(library));
    return visit_all(api, library, sink, visit);
}

}  // namespace gpuprobe::backends
