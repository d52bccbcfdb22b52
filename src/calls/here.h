// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/files.h"
#include "explain/doctor.h"

namespace gpuprobe {

/// What surrounds a process on the running machine. `variable` looks one up in its environment, as
/// getenv(3) does. What can't be read is unknown.
Surroundings surroundings_here(const FileSystem& files,
                               const std::function<const char*(const char* name)>& variable);

}  // namespace gpuprobe
