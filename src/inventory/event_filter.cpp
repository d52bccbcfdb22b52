// SPDX-License-Identifier: Apache-2.0
#include "inventory/event_filter.h"

#include <algorithm>

#include "inventory/pci_functions.h"
#include "inventory/sysfs.h"
#include "knowledge/chips.h"

namespace gpuprobe::inline inventory {
namespace {

/// A module whose coming and going changes a device's driver, version or nodes. The kernel writes
/// "_" where a driver's name has "-". nvidia* is matched by prefix: nvidia_uvm has no device whose
/// event would tell.
bool is_gpu_module(std::string_view name) {
    using knowledge::Role;
    if (name.starts_with("nvidia"))
        return true;
    const auto& table = knowledge::Chips::current();
    std::string dashed{name};
    std::ranges::replace(dashed, '_', '-');
    const auto* by_name = table.find_driver(name);
    const auto* driver = by_name ? by_name : table.find_driver(dashed);
    return driver && driver->role != Role::Display && driver->role != Role::Neither;
}

bool is_known_function(std::string_view vendor_and_device) {
    const auto colon = vendor_and_device.find(':');
    if (colon == std::string_view::npos)
        return false;
    const auto vendor = hex_digits(vendor_and_device.substr(0, colon), 4);
    const auto device = hex_digits(vendor_and_device.substr(colon + 1), 4);
    return vendor && device && is_known_device(*vendor, *device);
}

}  // namespace

bool concerns_gpus(const KernelEvent& event) {
    if (event.subsystem == "drm")
        return !event.is_connector_change &&
               (event.device_type.empty() || event.device_type == "drm_minor");
    if (event.subsystem == "accel" || event.subsystem == "kfd")
        return true;
    if (event.subsystem == "module")
        return is_gpu_module(base_name(event.sysfs_path));
    if (event.subsystem != "pci")
        return false;
    // Without a class it can't be ruled out: some kernels leave it out of "remove".
    return event.pci_class.empty() ||
           is_candidate_class(hex_digits(event.pci_class, 6).value_or("")) ||
           is_known_function(event.pci_id);
}

}  // namespace gpuprobe::inline inventory
