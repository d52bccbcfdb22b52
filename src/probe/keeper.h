// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuprobe::inline probe {

/// The exit status by which shells say that SIGTERM ended a program.
constexpr int kExitToldToEnd = 128 + 15;

/// A process between a worker and whoever started it. It is the parent of everything that the
/// worker starts, even of what leaves the session (PR_SET_CHILD_SUBREAPER, prctl(2)). It ends when
/// none of that is left, in the way the worker ended.
///
/// Both are for a process just forked, with every signal blocked, and allocate nothing.

/// Makes this process one that ends when `parent`, which forked it, does. False with errno.
[[nodiscard]] bool become_keeper(pid_t parent);

/// What a keeper holds.
struct Kept {
    pid_t worker = -1;
    pid_t first =
        -1;  ///< of the worker's own namespace of processes (namespaces.h); -1: it has none
    int lifeline = -1;  ///< that one ends when this is closed
};

/// Waits for the worker, a child of this process, kills what it leaves behind, and ends. SIGTERM
/// ends the worker by SIGKILL, and this process with kExitToldToEnd, since the worker did not cause
/// that.
[[noreturn]] void keep(const Kept& kept);

}  // namespace gpuprobe::inline probe
