// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace gpuprobe::backends {

/// Makes all files read-only for this process, and for everything it starts, but its current folder
/// and the device nodes of GPUs' drivers; forbids TCP; and keeps signals, tracing and abstract Unix
/// sockets among its own. Of that, what this kernel's Landlock can do: files since Linux 5.13,
/// truncation since 6.2, TCP since 6.7, other nodes' ioctls since 6.10, signals and sockets since
/// 6.12. Needs no_new_privs.
///
/// Returns the version of Landlock's interface. Errors: Unavailable, where there is none; Internal,
/// where it refuses.
///
/// Source: Linux, Documentation/userspace-api/landlock.rst.
Result<int> confine_files();

}  // namespace gpuprobe::backends
