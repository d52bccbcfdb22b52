// SPDX-License-Identifier: Apache-2.0
#include "inventory/platform_devices.h"

#include <algorithm>
#include <array>

#include "inventory/device_folder.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxPlatformDevices = 16;
constexpr std::array<const char*, 2> kDriversWithoutNodes{"gk20a", "nvgpu"};

/// A driver's folder lists its devices as links beside bind, unbind, module and uevent.
bool is_device_link(const Sysfs& sysfs, const std::string& path) {
    const auto name = base_name(path);
    return name != "module" && name != "bind" && name != "unbind" && name != "uevent" &&
           sysfs.link_name(path).has_value();
}

}  // namespace

void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices) {
    std::size_t added = 0;
    for (const auto* driver : kDriversWithoutNodes) {
        const auto folder = std::string{"/sys/bus/platform/drivers/"} + driver;
        for (const auto& name : sysfs.names(folder)) {
            const auto link = folder + "/" + name;
            const auto path = is_device_link(sysfs, link) ? sysfs.resolved(link) : std::nullopt;
            if (!path || added == kMaxPlatformDevices)
                continue;
            if (std::ranges::find(devices, *path, &HardwareDevice::sysfs_path) != devices.end())
                continue;
            devices.push_back(device_from(sysfs, DeviceFolder{sysfs, *path}));
            ++added;
        }
    }
}

}  // namespace gpuprobe
