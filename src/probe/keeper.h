// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuprobe {

/// As a shell says that a program was ended by SIGTERM.
constexpr int kExitToldToEnd = 128 + 15;

/// Between a worker and who started it: the parent of whatever the worker starts, also of what
/// leaves its session (PR_SET_CHILD_SUBREAPER, prctl(2)). It goes when none of that is left, and
/// ends as the worker ended.
///
/// Both are for a process just forked, with every signal blocked, and allocate nothing.

/// Makes this process one that ends when `parent`, which forked it, does. False with errno.
[[nodiscard]] bool become_keeper(pid_t parent);

/// Waits for `worker`, a child of this process, kills what it leaves behind, and ends. SIGTERM ends
/// the worker too, by SIGKILL, and this process with kExitToldToEnd: not of the worker's doing.
[[noreturn]] void keep(pid_t worker);

}  // namespace gpuprobe
