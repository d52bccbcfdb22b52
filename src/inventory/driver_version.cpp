// SPDX-License-Identifier: Apache-2.0
#include "inventory/driver_version.h"

#include <algorithm>

#include "base/parse.h"
#include "inventory/jetson.h"
#include "inventory/nvidia_proc.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {
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

/// Its drivers have versions of their own: the kernel's release is never one.
bool is_nvidias_own(std::string_view driver) {
    const auto own = words(info_of(Api::Cuda).kernel_drivers);
    return std::ranges::find(own, driver) != own.end();
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
    if (is_nvidias_own(*device.driver)) {
        const auto version = nvidia_module(sysfs).version;
        return version || !host.l4t ? version : driver_of_jetson(*host.l4t);
    }
    const auto taint = sysfs.text(folder + "/taint");
    if (taint && taint->find('O') != std::string::npos)
        return std::nullopt;
    return host.kernel;
}

}  // namespace gpuprobe::inline inventory
