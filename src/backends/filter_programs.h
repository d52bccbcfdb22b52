// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <linux/filter.h>

namespace gpuprobe::backends {

/// What decides which filter fits.
struct Surroundings {
    bool is_alone = false;  ///< in a namespace of processes that its parent is not in
    bool is_tegra = false;  ///< where requests of NVIDIA's driver have numbers of a terminal's
};

/// In a filter, the number of the process that it is for, which nobody knows before it is there.
/// Greater than any number of a process: proc(5), "/proc/sys/kernel/pid_max".
constexpr std::uint32_t kThisProcess = 0x7E57'AB1E;

/// Which argument of clone(2) holds the flags; clone(2), "C library/kernel differences".
#if defined(__s390__) || defined(__s390x__)
inline constexpr unsigned kCloneFlags = 1;
#else
inline constexpr unsigned kCloneFlags = 0;
#endif

/// The filter of what reaches beyond a process (confinement.h).
std::span<const sock_filter> refusals(Surroundings around);

/// The filter that leaves only what drivers are known to need (confinement.cpp). `asks`: the kernel
/// asks about any other call, and about each that starts a process or a thread; else other calls
/// fail with ENOSYS.
std::span<const sock_filter> known_calls(bool asks);

}  // namespace gpuprobe::backends
