// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace gpuprobe::backends {

/// Whether this process is in a namespace of processes that its parent is not in.
bool is_alone();

/// Refuses what reaches beyond this process, with the errors that confinement.h tells; anything
/// else is allowed. Errors: Internal, where the kernel or its container allows no filter.
Status refuse_reaching_out();

/// Leaves this process, and whatever it starts, only the system calls of a list; any other fails
/// with ENOSYS, as on an older kernel, and where the kernel can tell us (Linux 5.0) its number is
/// written to stderr once, so that a driver that fails without it says what it needs.
///
/// Starts a process for that. Needs no_new_privs. Errors: Internal, where the kernel or its
/// container allows no filter; nothing has changed then.
///
/// What confinement.h refuses is not on the list; where both filters say no, it is refused.
///
/// Sources of the list: systemd.exec(5), the groups of `@system-service` without those of its
/// members that change owners, users, keys, personality or the machine; and what lavapipe (Mesa
/// 22.3), pocl 3.1 and NVIDIA's CUDA, NVML, Vulkan and OpenCL (580.159) were seen to call.
Status allow_known_calls();

}  // namespace gpuprobe::backends
