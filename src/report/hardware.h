// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/machine.h"

/// Lookups of a device in the chip table (knowledge/chips.h). The functions return nullptr if no
/// row matches.

namespace gpuprobe::knowledge {
struct Chip;
}

namespace gpuprobe::inline report {

/// The row for the device's PCI ids, or for its `compatible` strings in the device tree.
const knowledge::Chip* chip_of(const HardwareDevice& device);

/// The row for the bound kernel driver, or for the driver that created the device.
const knowledge::Chip* driver_row_of(const HardwareDevice& device);

// Vendor names as in the chip table: "nvidia", "amd", "intel", "apple", "arm" …

/// The name for a PCI vendor id (four lower-case hexadecimal digits); nullopt if the chip table has
/// no such vendor.
std::optional<std::string> vendor_word(std::string_view vendor_id);

/// Whether the vendor makes GPUs, and not only display devices or accelerators.
bool makes_gpus(std::string_view vendor_id);

/// Whether the vendor makes accelerators but not GPUs.
bool makes_only_accelerators(std::string_view vendor_id);

/// The vendor of a device, determined by the PCI vendor id. On a bus without vendor ids, the vendor
/// is determined by the device tree's `compatible` or, if that is unknown, by the kernel driver.
std::optional<std::string> vendor_of(const HardwareDevice& device);

/// The only vendor whose devices an API lists ("cuda" → "nvidia"); nullopt if the API supports any
/// vendor.
std::optional<std::string> vendor_of_api(std::string_view api);

/// The role of a device function, which decides whether reports contain the function.
enum class Role {
    Gpu,
    DisplayOnly,  ///< a device that only drives displays: a BMC, a firmware frame buffer
    Accelerator,  ///< an NPU or another accelerator
    Dropped,  ///< any other device: a second function of a GPU, a data mover, a display controller
};

/// How a role or kind was determined.
enum class Basis {
    Table,   ///< the chip table has a row for the device
    Driver,  ///< the bound kernel driver, or an API
    Rule     ///< a guess from the class and properties of the device
};
constexpr auto names_of(Basis) {
    return std::to_array<EnumName<Basis>>(
        {{Basis::Table, "table"}, {Basis::Driver, "driver"}, {Basis::Rule, "rule"}});
}

struct JudgedRole {
    Role role = Role::Dropped;
    Basis basis = Basis::Rule;
};

/// Judges the role by these rules, in this order:
///
/// 1. the bound kernel driver, if it is a driver for displays or accelerators, or has the role
///    `neither` in the chip table;
/// 2. the device's row in the chip table. A display or a paravirtual device counts as a GPU if a
///    GPU driver is bound. A device with the role `neither` counts as a GPU if it has a render
///    node;
/// 3. rules for PCI classes. A display function is a GPU if its vendor makes GPUs or the function
///    has a render node.
///
/// Sources: data/knowledge/chips.json; class codes of pci.ids; node-feature-discovery's device
/// classes. AMD Instinct cards have class 0380 or 1200.
JudgedRole judge_role(const HardwareDevice& device);
Role role_of(const HardwareDevice& device);

/// Whether a hypervisor emulates the GPU, with or without 3D: virtio-gpu, vmwgfx.
bool is_virtual_gpu(const HardwareDevice& device);

/// A gfx target without the features behind the colon: "gfx90a". nullopt if `target` isn't a gfx
/// target.
std::optional<std::string> without_features(std::string_view target);

/// Whether the device is passed through to a virtual machine. The bound driver (vfio-pci) then
/// provides nothing to programs on this machine.
bool is_passed_through(const HardwareDevice& device);

}  // namespace gpuprobe::inline report
