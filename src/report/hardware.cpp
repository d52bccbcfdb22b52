// SPDX-License-Identifier: Apache-2.0
#include "report/hardware.h"

#include "knowledge/chips.h"
#include "report/api_table.h"

namespace gpuprobe::inline report {

const knowledge::Chip* chip_of(const HardwareDevice& device) {
    const auto& chips = knowledge::Chips::current();
    if (device.vendor_id)
        return chips.find(*device.vendor_id, device.device_id.value_or(""),
                          device.pci_class.value_or(""));
    return chips.find_compatible(device.compatible);
}

namespace {

/// The name of a device's driver. A platform device that a driver creates for itself has no driver
/// link, but the device's name is the driver's name, with or without a number: "platform:vgem",
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

std::optional<std::string> vendor_word(std::string_view vendor_id) {
    const auto* vendor = knowledge::Chips::current().vendor_of_id(vendor_id);
    return vendor ? std::optional{vendor->vendor} : std::nullopt;
}

bool makes_gpus(std::string_view vendor_id) {
    const auto* vendor = knowledge::Chips::current().vendor_of_id(vendor_id);
    return vendor && vendor->makes_any(knowledge::Role::Gpu);
}

bool makes_only_accelerators(std::string_view vendor_id) {
    using knowledge::Role;
    const auto* vendor = knowledge::Chips::current().vendor_of_id(vendor_id);
    return vendor && vendor->makes_any(Role::Accelerator) && !vendor->makes_any(Role::Gpu);
}

std::optional<std::string> vendor_of(const HardwareDevice& device) {
    if (device.vendor_id)
        return vendor_word(*device.vendor_id);
    // The device has no PCI vendor id, like all devices from the device tree. The chip's row is
    // more specific than the driver's row.
    for (const auto* row : {chip_of(device), driver_row_of(device)})
        if (row && row->vendor)
            return row->vendor;
    return std::nullopt;
}

std::optional<std::string> vendor_of_api(std::string_view api) {
    const auto* row = find_api(api);
    return row && !row->vendor.empty() ? std::optional<std::string>{row->vendor} : std::nullopt;
}

namespace {

using ChipRole = knowledge::Role;

std::optional<ChipRole> role_in(const knowledge::Chip* row) {
    return row ? row->role : std::nullopt;
}

bool is_paravirtual(const knowledge::Chip* row) {
    return row && row->role == ChipRole::Gpu && row->form == knowledge::Form::Paravirtual;
}

bool has_class(const HardwareDevice& device, std::string_view prefix) {
    return device.pci_class && device.pci_class->starts_with(prefix);
}

/// Whether the bound driver is a GPU driver, or the device has a render node.
bool is_driven_as_gpu(const HardwareDevice& device) {
    return device.drm.render || role_in(driver_row_of(device)) == ChipRole::Gpu;
}

/// Rule 3: if no row decides, the PCI class decides.
Role role_by_class(const HardwareDevice& device) {
    const auto vendor = device.vendor_id.value_or("");
    // A 3D controller has no display outputs, so its driver is for computing.
    if (has_class(device, "0302") && device.driver && !is_passed_through(device))
        return Role::Gpu;
    if (has_class(device, "03"))
        return device.drm.render || makes_gpus(vendor) ? Role::Gpu : Role::DisplayOnly;
    // The old PCI class of VGA-compatible devices.
    if (has_class(device, "0001"))
        return Role::DisplayOnly;
    if (is_driven_as_gpu(device))
        return Role::Gpu;
    // Not all coprocessors (0b40) are accelerators: Intel's coprocessors compress data.
    const bool is_accelerator =
        has_class(device, "1200") || (has_class(device, "0b40") && makes_only_accelerators(vendor));
    return is_accelerator ? Role::Accelerator : Role::Dropped;
}

/// Rule 2. nullopt if the row leaves the decision to the rules for PCI classes.
std::optional<Role> role_by_row(const knowledge::Chip& row, const HardwareDevice& device) {
    switch (row.role.value_or(ChipRole::Passthrough)) {
        case ChipRole::Accelerator:
            return Role::Accelerator;
        case ChipRole::Display:
            return role_in(driver_row_of(device)) == ChipRole::Gpu ? Role::Gpu : Role::DisplayOnly;
        case ChipRole::Neither:
            return device.drm.render ? Role::Gpu : Role::Dropped;
        case ChipRole::Gpu:
            if (is_paravirtual(&row) && !is_driven_as_gpu(device))
                return Role::DisplayOnly;
            // A row for all devices of a vendor does not determine the role of display functions.
            return row.is_specific() || !has_class(device, "03") ? std::optional{Role::Gpu}
                                                                 : std::nullopt;
        case ChipRole::Passthrough:
            break;
    }
    return std::nullopt;
}

/// Rule 1. nullopt if the driver does not decide.
std::optional<Role> role_by_driver(const HardwareDevice& device) {
    const auto role = role_in(driver_row_of(device));
    if (role == ChipRole::Neither)
        return Role::Dropped;
    if (device.is_accel || role == ChipRole::Accelerator)
        return Role::Accelerator;
    if (role == ChipRole::Display)
        return Role::DisplayOnly;
    return std::nullopt;
}

}  // namespace

JudgedRole judge_role(const HardwareDevice& device) {
    if (const auto role = role_by_driver(device))
        return {.role = *role, .basis = Basis::Driver};
    const auto* row = chip_of(device);
    if (const auto role = row ? role_by_row(*row, device) : std::nullopt)
        return {.role = *role, .basis = row->is_specific() ? Basis::Table : Basis::Rule};
    if (device.bus == HardwareBus::Pci)
        return {.role = role_by_class(device), .basis = Basis::Rule};
    // Other buses have no classes, so only the driver can decide.
    return {.role = is_driven_as_gpu(device) ? Role::Gpu : Role::Dropped, .basis = Basis::Driver};
}

Role role_of(const HardwareDevice& device) {
    return judge_role(device).role;
}

bool is_virtual_gpu(const HardwareDevice& device) {
    return is_paravirtual(driver_row_of(device)) || is_paravirtual(chip_of(device));
}

std::optional<std::string> without_features(std::string_view target) {
    if (!target.starts_with("gfx"))
        return std::nullopt;
    return std::string{target.substr(0, target.find(':'))};
}

bool is_passed_through(const HardwareDevice& device) {
    // The names of the variants of vfio-pci end in "vfio-pci": "xe-vfio-pci".
    const std::string_view driver = device.driver ? *device.driver : std::string_view{};
    return role_in(driver_row_of(device)) == ChipRole::Passthrough ||
           driver.ends_with("vfio-pci") || driver.ends_with("vfio_pci");
}

}  // namespace gpuprobe::inline report
