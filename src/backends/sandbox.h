// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <linux/filter.h>

#include "probe/target.h"

namespace gpuprobe::backends {

/// The parts of the sandbox that are active in this process, and the reasons why other parts are
/// missing.
struct Confinement {
    std::vector<std::string> by = {};        ///< the active parts: "namespaces", "landlock-7" …
    std::vector<std::string> problems = {};  ///< messages about the missing parts
};

/// Puts this process and all processes that it starts into a sandbox. The sandbox removes access
/// that drivers do not need, and access to anything outside the process. The sandbox is the same
/// for every caller and every system. The sandbox restricts
///
///  - files: the process reads only the files that drivers need (readable_places()), and writes
///    only to its current folder and to the drivers' device nodes (Landlock);
///  - system calls that inspect, signal or schedule other processes, or that change the kernel,
///    mounts, namespaces, key rings or the clock, and sockets of families other than AF_UNIX. Such
///    calls fail with EPERM. Calls that have an older form whose arguments a filter can check
///    (clone3), and calls that drivers try first but do not need (io_uring, the new mount calls),
///    fail with ENOSYS;
///  - every system call outside the list of known calls.
///
/// A refused call fails but never kills the process, because a driver with a fallback can still
/// give a result, and a killed driver cannot.
///
/// Executable memory, fork, exec and the NUMA calls stay allowed: drivers compile code, pocl runs
/// the linker, ROCm binds memory. The process must have set no_new_privs or be root, and must have
/// a private current folder.
///
/// The calls that drivers do not need were determined with lavapipe (Mesa 22.3), pocl 3.1, CUDA and
/// NVIDIA's Vulkan driver (580.159). Confinement::problems lists the parts of the sandbox that are
/// missing because the kernel or the container refused them.
/// `job` is the job whose driver is loaded next. If the job is empty, the process can read only the
/// files that every driver may read.
Confinement confine(const ProbeTarget& job);

/// The files and folders that a driver may read, including all files below the folders: the folders
/// in which systems keep libraries and drivers, the settings of drivers in /etc, /sys without the
/// serial numbers of the firmware, and /proc. If `sees_only_itself` is true, /proc shows only this
/// process, and all of /proc is readable. Otherwise, only the folder of this process and the files
/// that do not describe a process are readable.
///
/// The result also contains the paths named by this machine's linker cache, by the job and by the
/// environment of this process: the folder of a manifest or library, and the tree in which it is
/// installed (install_tree()). The result never contains a whole home folder.
///
/// Some of the paths may not exist, and some may be links. Drivers cannot read any other files, for
/// example /etc/shadow, home folders, /var/log, other processes, and other users' folders in /run.
std::vector<std::string> readable_places(const ProbeTarget& job, bool sees_only_itself);

/// The tree in which a folder of libraries or manifests is installed, such as "/data/rocm" for
/// "/data/rocm/lib" and for "/data/rocm/share/vulkan/icd.d". Returns the folder itself if it is not
/// within such a tree, or if the tree would be a home folder, a hidden folder in a home folder, or
/// a folder that the whole system shares ("/var"). Returns an empty path if `folder` itself is such
/// a folder.
///
/// `folder` is absolute and contains no links.
std::string install_tree(const std::string& folder);

/// The properties of the worker and of the machine that determine which variant of refusals() is
/// used.
struct FilterVariant {
    bool is_alone = false;  ///< whether the worker is in a different PID namespace from its parent
    /// Whether the machine is a Tegra: some ioctl numbers of NVIDIA's driver for Tegra are equal to
    /// those that terminals use.
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
