// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe {

/// A text that is equal exactly when cached driver answers still hold: kernel release, boot, each
/// device with its driver and version, and path, inode, size and time of every file in `watched`
/// (manifests, libraries).
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched,
                           std::string_view boot_id,
                           std::string_view program_version);

}  // namespace gpuprobe
