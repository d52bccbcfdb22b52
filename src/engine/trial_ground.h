// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/files.h"
#include "probe/target.h"
#include "report/machine.h"

namespace gpuprobe {

/// A text that is equal exactly while what the target's device computed still holds
/// (store/probe_cache.h, trial_fingerprint_of): of the machine's devices that one alone, and of its
/// libraries those that the API computes with. Where the dynamic linker's cache does not name them,
/// all of that cache counts.
std::string trial_ground(const ProbeTarget& target,
                         const Machine& machine,
                         const FileSystem& files);

}  // namespace gpuprobe
