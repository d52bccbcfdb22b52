// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe {

/// A text that is equal exactly when cached driver answers still hold: our version, kernel release,
/// each device with its driver, version, partitions and nodes, and path, inode, size and time of
/// every file in `watched` (manifests, the dynamic linker's cache). A new boot alone changes
/// nothing.
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched,
                           std::string_view program_version);

}  // namespace gpuprobe
