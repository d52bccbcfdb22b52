// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe::inline base {

/// A lock on a file, which is made where it is missing, that ends with this process; an empty one
/// where another process has it. Errors: Io, NotFound, PermissionDenied, each "path: reason".
Result<UniqueFd> lock_file(const std::string& path);

}  // namespace gpuprobe::inline base
