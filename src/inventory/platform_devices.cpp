// SPDX-License-Identifier: Apache-2.0
#include "inventory/platform_devices.h"

#include <algorithm>
#include <array>

#include "inventory/device_folder.h"
#include "knowledge/chips.h"
#include "report/hardware.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxPlatformDevices = 16;
constexpr const char* kDriversFolder = "/sys/bus/platform/drivers";
constexpr const char* kDevicesFolder = "/sys/bus/platform/devices";
/// Drivers whose device is separate from the same vendor's DRM devices.
constexpr std::array<std::string_view, 2> kDriversWithoutNodes{"gk20a", "nvgpu"};

/// A driver's folder lists its devices as links, next to bind, unbind, module and uevent.
bool is_device_link(const Sysfs& sysfs, const std::string& path) {
    const auto name = base_name(path);
    return name != "module" && name != "bind" && name != "unbind" && name != "uevent" &&
           sysfs.link_name(path).has_value();
}

bool is_computing(const knowledge::Chip* chip) {
    using knowledge::Role;
    return chip && (chip->role == Role::Gpu || chip->role == Role::Accelerator);
}

/// True for drivers of GPUs or accelerators without DRM or accel nodes. If the vendor also has a
/// platform device with such nodes, the driver's device is a component of that one, which is found
/// by its nodes.
bool serves_without_nodes(const knowledge::Chip& driver,
                          const std::vector<HardwareDevice>& devices) {
    return is_computing(&driver) &&
           std::ranges::none_of(devices, [&](const HardwareDevice& device) {
               return device.bus == HardwareBus::Platform && (device.is_drm || device.is_accel) &&
                      vendor_of(device) == driver.maker;
           });
}

bool always_apart(std::string_view driver) {
    return std::ranges::find(kDriversWithoutNodes, driver) != kDriversWithoutNodes.end();
}

/// The devices bound to a driver, sorted by name.
std::vector<HardwareDevice> devices_of(const Sysfs& sysfs, const std::string& driver) {
    std::vector<HardwareDevice> found;
    const auto folder = std::string{kDriversFolder} + "/" + driver;
    for (const auto& name : sysfs.names(folder)) {
        const auto link = folder + "/" + name;
        const auto path = is_device_link(sysfs, link) ? sysfs.resolved(link) : std::nullopt;
        if (path && found.size() < kMaxPlatformDevices)
            found.push_back(device_from(sysfs, DeviceFolder{sysfs, *path}));
    }
    return found;
}

/// Appends the compatible strings of the component to the DRM device that it belongs to. Only done
/// if there is a single candidate, so that the result is certain.
void add_component(const HardwareDevice& component, std::vector<HardwareDevice>& devices) {
    const auto& chips = knowledge::Chips::current();
    const auto is_holder = [&](const HardwareDevice& device) {
        return device.bus == HardwareBus::Platform && device.is_drm &&
               vendor_of(device) == vendor_of(component) &&
               !chips.find_compatible(device.compatible);
    };
    if (std::ranges::count_if(devices, is_holder) != 1 ||
        !chips.find_compatible(component.compatible))
        return;
    auto& words = std::ranges::find_if(devices, is_holder)->compatible;
    words.insert(words.end(), component.compatible.begin(), component.compatible.end());
}

/// Devices of the device tree that have no driver. (Linux does not create devices for nodes that
/// are marked as disabled.)
std::vector<HardwareDevice> undriven_devices(const Sysfs& sysfs) {
    std::vector<HardwareDevice> found;
    for (const auto& name : sysfs.names(kDevicesFolder)) {
        const auto path = sysfs.resolved(std::string{kDevicesFolder} + "/" + name);
        if (!path || sysfs.link_name(*path + "/driver"))
            continue;
        auto device = device_from(sysfs, DeviceFolder{sysfs, *path});
        if (!device.driver &&
            is_computing(knowledge::Chips::current().find_compatible(device.compatible)))
            found.push_back(std::move(device));
    }
    return found;
}

}  // namespace

void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices) {
    const auto is_listed = [&devices](const HardwareDevice& device) {
        return std::ranges::find(devices, device.sysfs_path, &HardwareDevice::sysfs_path) !=
               devices.end();
    };
    std::vector<HardwareDevice> apart = undriven_devices(sysfs);
    std::erase_if(apart, is_listed);
    // Each driver's devices are either GPUs without DRM nodes, or a component of a DRM device.
    for (const auto& driver : sysfs.names(kDriversFolder)) {
        const auto* row = knowledge::Chips::current().find_driver(driver);
        if (!row)
            continue;
        auto found = devices_of(sysfs, driver);
        std::erase_if(found, is_listed);
        if (always_apart(driver) || serves_without_nodes(*row, devices))
            std::ranges::move(found, std::back_inserter(apart));
        else if (found.size() == 1 && row->role == knowledge::Role::Gpu)
            add_component(found.front(), devices);
    }
    apart.resize(std::min(apart.size(), kMaxPlatformDevices));
    std::ranges::move(apart, std::back_inserter(devices));
}

}  // namespace gpuprobe::inline inventory
