// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/target.h"
#include "report/machine.h"

namespace gpuprobe {

/// The devices that the driver behind `target` may drive: those of its vendor where the name of its
/// manifest, or the API itself, tells the vendor; else every one.
std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine);

/// The sleeping device that probing `target` would wake; nullopt when it would wake none.
///
/// A driver manifest whose name tells its vendor wakes only that vendor's devices; any other is
/// taken to wake every one. `pci` reads what the kernel caches and wakes nothing.
std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine);

/// The result of a probe that was not run because it would have woken `device`.
ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device);

}  // namespace gpuprobe
