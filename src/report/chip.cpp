// SPDX-License-Identifier: Apache-2.0
#include "report/chip.h"

namespace gpuprobe {

const knowledge::Chip* chip_of(const HardwareDevice& device) {
    const auto& chips = knowledge::Chips::current();
    if (device.vendor_id)
        return chips.find(*device.vendor_id, device.device_id.value_or(""),
                          device.pci_class.value_or(""));
    return chips.find_compatible(device.compatible);
}

const knowledge::Chip* driver_row_of(const HardwareDevice& device) {
    return device.driver ? knowledge::Chips::current().find_driver(*device.driver) : nullptr;
}

}  // namespace gpuprobe
