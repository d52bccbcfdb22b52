// SPDX-License-Identifier: Apache-2.0
#include "report/vendor.h"

#include "report/api_table.h"
#include "report/chip.h"

namespace gpuprobe::inline report {

std::optional<std::string> vendor_word(std::string_view vendor_id) {
    const auto* maker = knowledge::Chips::current().maker_of_vendor(vendor_id);
    return maker ? std::optional{maker->maker} : std::nullopt;
}

bool makes_gpus(std::string_view vendor_id) {
    const auto* maker = knowledge::Chips::current().maker_of_vendor(vendor_id);
    return maker && maker->makes_any(knowledge::Role::Gpu);
}

bool makes_accelerators_alone(std::string_view vendor_id) {
    using knowledge::Role;
    const auto* maker = knowledge::Chips::current().maker_of_vendor(vendor_id);
    return maker && maker->makes_any(Role::Accelerator) && !maker->makes_any(Role::Gpu);
}

std::optional<std::string> vendor_of(const HardwareDevice& device) {
    if (device.vendor_id)
        return vendor_word(*device.vendor_id);
    // No PCI vendor id, as for devices from the device tree. The chip's row is more specific than
    // the driver's row.
    for (const auto* row : {chip_of(device), driver_row_of(device)})
        if (row && row->maker)
            return row->maker;
    return std::nullopt;
}

std::optional<std::string> vendor_of_api(std::string_view api) {
    const auto* row = find_api(api);
    return row && !row->vendor.empty() ? std::optional<std::string>{row->vendor} : std::nullopt;
}

}  // namespace gpuprobe::inline report
