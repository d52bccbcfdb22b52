// SPDX-License-Identifier: Apache-2.0
#include "inventory/driver_version.h"

#include <algorithm>

#include "inventory/nvidia_proc.h"

namespace gpuprobe {
namespace {

/// A driver's module has its name with underscores, unless the driver's link says otherwise.
std::string module_of(const Sysfs& sysfs, const HardwareDevice& device) {
    if (auto linked = sysfs.link_name(device.sysfs_path + "/driver/module"))
        return *linked;
    auto name = *device.driver;
    std::ranges::replace(name, '-', '_');
    std::ranges::replace(name, '/', '_');
    return name;
}

}  // namespace

std::optional<std::string> driver_version(const Sysfs& sysfs,
                                          const HardwareDevice& device,
                                          const Host& host) {
    if (!device.driver)
        return std::nullopt;
    const auto folder = "/sys/module/" + module_of(sysfs, device);
    if (auto version = sysfs.text(folder + "/version"))
        return version;
    if (*device.driver == "nvidia")
        return nvidia_module(sysfs).version;
    const auto taint = sysfs.text(folder + "/taint");
    if (taint && taint->find('O') != std::string::npos)
        return std::nullopt;
    return host.kernel;
}

}  // namespace gpuprobe
