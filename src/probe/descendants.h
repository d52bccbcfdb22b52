// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuprobe::inline probe {

/// Both are for a process just forked, with one thread, and allocate nothing.

/// SIGKILL to each child of this process. False where the kernel doesn't list them.
bool kill_children();

/// SIGSTOP to everything below this process, until nothing of it runs.
///
/// This is against a program that keeps starting processes up to a limit, each in a session of its
/// own: killing one makes room for another, while a stopped one keeps its place.
void stop_descendants();

}  // namespace gpuprobe::inline probe
