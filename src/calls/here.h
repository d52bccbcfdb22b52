// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/files.h"
#include "explain/doctor.h"

namespace gpuprobe {

/// What surrounds whoever asks on the running machine, but who they are. `variable` looks one up in
/// their environment, as getenv(3) does. What can't be read is unknown.
Surroundings surroundings_here(const FileSystem& files,
                               const std::function<const char*(const char* name)>& variable);

/// What surrounds this process, with its account. Looks the account up, which may take a while.
Surroundings own_surroundings(const FileSystem& files);

}  // namespace gpuprobe
