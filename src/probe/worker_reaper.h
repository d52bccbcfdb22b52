// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuprobe::inline probe {

/// The exit status that shells use for a program ended by SIGTERM.
constexpr int kExitTerminated = 128 + 15;

/// The reaper: a process between a worker and the process that launched it. The reaper becomes the
/// parent of all processes that the worker starts, even if they call setsid()
/// (PR_SET_CHILD_SUBREAPER, prctl(2)). The reaper ends with the worker's exit status after all
/// these processes have ended.
///
/// Both functions run in a freshly forked process with all signals blocked, and do not allocate.

/// Makes this process a subreaper that gets SIGTERM when `parent`, which forked it, ends. Returns
/// false and sets errno on failure.
[[nodiscard]] bool become_keeper(pid_t parent);

/// The processes that a reaper manages.
struct Kept {
    pid_t worker = -1;
    pid_t first = -1;   ///< init process of the worker's PID namespace (worker_sandbox.h), or -1
    int lifeline = -1;  ///< the init process ends when this descriptor is closed
};

/// Waits for the worker (a child of this process), kills all processes that the worker left behind,
/// and exits. On SIGTERM, the function kills the worker with SIGKILL and exits with
/// kExitTerminated, because the worker did not cause its own end.
[[noreturn]] void keep(const Kept& kept);

}  // namespace gpuprobe::inline probe
