// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "probe/target.h"

namespace gpuprobe::backends {

/// What holds this process, and why the rest does not.
struct Confinement {
    std::vector<std::string> by = {};  ///< "namespaces", "landlock-7", "no-reaching-out" …
    std::vector<std::string> problems = {};
};

/// Takes away from this process, and from everything it starts, what no driver needs and what
/// reaches beyond it, whoever started it and where:
///  - files: it reads only what drivers need (readable_places.h), and writes only to its current
///    folder and drivers' nodes (Landlock);
///  - the system calls that look into other processes, signal or schedule them, change the kernel,
///    mounts, namespaces, key rings, the clock, and sockets of another family than AF_UNIX. They
///    fail with EPERM. Calls with an older form whose arguments can be judged (clone3), and those
///    that drivers try first but can do without (io_uring, the new mount calls), fail with ENOSYS;
///  - every other system call that is not on a list.
/// No call ever kills the process: what a driver falls back to is an answer, its death is not.
///
/// Executable memory, fork, exec and the NUMA calls stay: drivers compile, pocl runs the linker,
/// ROCm binds memory. Needs no_new_privs or root, and a folder of its own to be in.
///
/// Source of what drivers can do without: measured with lavapipe (Mesa 22.3), pocl 3.1, CUDA and
/// NVIDIA's Vulkan (580.159). What the kernel or its container refuses does not hold.
/// `job`: whose driver is loaded next; without one, only what every driver may read is open.
Confinement confine(const ProbeTarget& job);

}  // namespace gpuprobe::backends
