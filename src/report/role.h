// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "report/machine.h"

namespace gpuprobe::inline report {

/// What a function of the machine is to us.
enum class Role {
    Gpu,
    DisplayOnly,  ///< shows pixels and computes nothing: a BMC, a firmware frame buffer
    Accelerator,  ///< an NPU or the like
    Dropped,      ///< neither: a second function of a GPU, a data mover, a display controller
};

/// What a role or kind rests on.
enum class Basis {
    Table,   ///< the table of chips names the device
    Driver,  ///< the kernel driver that is bound, or what an API says
    Rule     ///< the class and what the device has: a guess
};
constexpr auto names_of(Basis) {
    return std::to_array<EnumName<Basis>>(
        {{Basis::Table, "table"}, {Basis::Driver, "driver"}, {Basis::Rule, "rule"}});
}

struct JudgedRole {
    Role role = Role::Dropped;
    Basis basis = Basis::Rule;
};

/// By kernel driver, device id and class, in this order:
///
/// 1. drivers of displays, accelerators and of no device at all;
/// 2. the table's row for the device. A display, or what a hypervisor makes of software, is a GPU
///    where a driver for GPUs is bound; what the table calls neither is one where it renders;
/// 3. rules by class. A display function is a GPU where its vendor makes GPUs, or it renders.
///
/// Sources: data/knowledge/chips.json; class codes of pci.ids; node-feature-discovery's device
/// classes. AMD Instinct cards are 0380 or 1200.
JudgedRole judge_role(const HardwareDevice& device);
Role role_of(const HardwareDevice& device);

/// Made of software by a hypervisor, with or without 3D: virtio-gpu, vmwgfx.
bool is_virtual_gpu(const HardwareDevice& device);

/// Handed to a virtual machine: the bound driver serves no one here.
bool is_passed_through(const HardwareDevice& device);

}  // namespace gpuprobe::inline report
