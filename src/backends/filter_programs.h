// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <linux/filter.h>

namespace gpuprobe::backends {

/// The properties of the worker and of the machine that determine which variant of refusals() is
/// used.
struct FilterVariant {
    bool is_alone = false;  ///< whether the worker is in another PID namespace than its parent
    /// The machine is a Tegra, on which some ioctl numbers of NVIDIA's driver equal terminal
    /// requests.
    bool is_tegra = false;
};

/// A placeholder in a filter for the id of the process that loads the filter, which is unknown when
/// the filter is generated. The placeholder is greater than any process id. Source: proc(5),
/// "/proc/sys/kernel/pid_max".
constexpr std::uint32_t kThisProcess = 0x7E57'AB1E;

/// The position of the flags among the arguments of clone(2). Source: clone(2), "C library/kernel
/// differences".
#if defined(__s390__) || defined(__s390x__)
inline constexpr unsigned kCloneFlags = 1;
#else
inline constexpr unsigned kCloneFlags = 0;
#endif

/// The filter that refuses calls that affect other processes or the machine (sandbox.h).
std::span<const sock_filter> refusals(FilterVariant variant);

/// The filter that allows only the calls that drivers are known to need (sandbox.cpp). If `asks` is
/// true, every other call, and every call that starts a process or a thread, sends a notification
/// to the supervisor. If `asks` is false, other calls fail with ENOSYS.
std::span<const sock_filter> known_calls(bool asks);

}  // namespace gpuprobe::backends
