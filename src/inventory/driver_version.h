// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The version of a device's bound kernel driver: /sys/module/<module>/version where the module
/// carries one; else, for a driver of the kernel's own tree, the kernel release, which is never one
/// of NVIDIA's: its drivers for Tegra have that of the nvidia module beside them, or of the
/// Jetson's release. nullopt for a module from elsewhere ("O" in its taint file) that carries none.
/// Source: Documentation/ABI/stable/sysfs-module.
std::optional<std::string> driver_version(const Sysfs& sysfs,
                                          const HardwareDevice& device,
                                          const Host& host);

}  // namespace gpuprobe::inline inventory
