// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace gpuprobe::inline base {

/// write_atomically() with the temporary file in `elsewhere`, a folder of the same file system, for
/// a reader who takes notice of whatever appears in the file's own. Errors: Io, PermissionDenied.
Status write_atomically_from(const std::string& elsewhere,
                             const std::string& path,
                             std::string_view content,
                             mode_t mode = 0644);

}  // namespace gpuprobe::inline base
