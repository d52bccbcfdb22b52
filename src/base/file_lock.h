// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe::inline base {

/// A lock on a file, which is made where it is missing, that ends with this process; an empty one
/// where another process has it for longer than `patience`. Errors: Io, NotFound, PermissionDenied,
/// each "path: reason".
Result<UniqueFd> lock_file(const std::string& path, Duration patience = {});

}  // namespace gpuprobe::inline base
