// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace gpuprobe::backends {

/// Takes away from this process, and from everything it starts, the system calls that no driver
/// needs and that reach beyond it: looking into other processes, the kernel's modules and programs,
/// mounts, namespaces, key rings, the clock, foreign socket families. They fail with EPERM. Calls
/// with an older form whose arguments can be judged (clone3), and calls that drivers try first but
/// can do without (io_uring, the new mount calls), fail with ENOSYS. No call ever kills the
/// process: what a driver falls back to is an answer, its death is not.
///
/// Executable memory, fork, exec and the NUMA calls stay: drivers compile, pocl runs the linker,
/// ROCm binds memory. Needs no_new_privs or root.
///
/// Source of what drivers can do without: measured with lavapipe (Mesa 22.3), pocl 3.1, CUDA and
/// NVIDIA's Vulkan (580.159). Errors: Internal, where the kernel or its container allows no filter;
/// nothing has changed then.
Status confine_system_calls();

}  // namespace gpuprobe::backends
