// SPDX-License-Identifier: Apache-2.0
#include "report/chip.h"

namespace gpuprobe::inline report {

const knowledge::Chip* chip_of(const HardwareDevice& device) {
    const auto& chips = knowledge::Chips::current();
    if (device.vendor_id)
        return chips.find(*device.vendor_id, device.device_id.value_or(""),
                          device.pci_class.value_or(""));
    return chips.find_compatible(device.compatible);
}

namespace {

/// Name of the driver of a device. A platform device that a driver creates for itself has no driver
/// link, but its name is the driver's name, perhaps with a number: "platform:vgem",
/// "platform:amdgpu_xcp_3".
std::string_view driver_word(const HardwareDevice& device) {
    if (device.driver)
        return *device.driver;
    constexpr std::string_view kPlatform = "platform:";
    if (!device.id.starts_with(kPlatform))
        return {};
    const auto name = std::string_view{device.id}.substr(kPlatform.size());
    return name.substr(0, name.find_last_not_of("0123456789._") + 1);
}

}  // namespace

const knowledge::Chip* driver_row_of(const HardwareDevice& device) {
    return knowledge::Chips::current().find_driver(driver_word(device));
}

}  // namespace gpuprobe::inline report
