// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace gpuprobe::backends {

/// Takes from this process, and from all that it starts, the system calls that no driver needs and
/// that reach past it: looking into other processes, the kernel's modules and programs, mounts,
/// namespaces, key rings, the clock, foreign socket families. They fail with EPERM. What has an
/// older form that can be judged by its arguments (clone3), and what drivers try first and do
/// without (io_uring, the new mount calls), fails with ENOSYS. Nothing is ever killed for a call: a
/// driver's fallback is an answer, its death is none.
///
/// Executable memory, fork, exec and the NUMA calls stay: drivers compile, pocl runs the linker,
/// ROCm binds memory. Needs no_new_privs or root.
///
/// Source of what drivers bear: measured with lavapipe (Mesa 22.3), pocl 3.1, CUDA and NVIDIA's
/// Vulkan (580.159).
/// Errors: Internal, where the kernel or its container allows no filter; nothing has changed then.
Status confine_system_calls();

}  // namespace gpuprobe::backends
