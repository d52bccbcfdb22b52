// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe {

/// Both ends close-on-exec, and above the descriptors that a worker is given.
struct Pipe {
    UniqueFd read = {};
    UniqueFd write = {};
    /// Errors: Io.
    static Result<Pipe> create();
};

/// One for a worker to write to: reading does not block, writing does. Errors: Io.
Result<Pipe> worker_pipe();

/// The same file under a number that no descriptor of a worker has. Errors: Io.
Result<UniqueFd> raised(UniqueFd low);

/// A program to run as a worker: stdin is /dev/null, stdout and stderr are `output`, descriptor 3
/// is `frames`, and no other descriptor is open.
struct SpawnOrder {
    std::vector<std::string> arguments = {};  ///< the program's path first
    std::vector<std::string> environment = {};
    int frames = -1;  ///< borrowed; raised, as an end of a Pipe is
    int output = -1;  ///< borrowed; raised
};

/// The keeper (keeper.h) of one program. It ends in the way the program does, once nothing is left
/// of what the program started. SIGTERM to it ends all of them.
struct SpawnedProcess {
    pid_t pid = -1;  ///< a child; not reaped
    UniqueFd pidfd = {};
};

/// Starts it in a process group of its own, to die with the thread that starts it, without new
/// privileges, core dumps, endless files or our signal mask, in "/". There is no limit on address
/// space: CUDA reserves more than any machine has; and none on processes: those of a user are
/// counted, not those of a worker.
///
/// Returns when the program runs, or could not. Errors: ProbeFailed, naming the program.
Result<SpawnedProcess> spawn(const SpawnOrder& order);

}  // namespace gpuprobe
