// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Why a loader found nothing behind a manifest, where its library is to blame: Absent with
/// `driver-missing` when it is not there, Failed with the linker's words when it does not load. A
/// loader says the same for these as for a driver without a device. nullopt when the library loads,
/// or none is named; it stays loaded, as the loader would have left it.
std::optional<Answer> without_library(const ProbeTarget& target);

}  // namespace gpuprobe::backends
