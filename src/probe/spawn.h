// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"
#include "probe/worker_sandbox.h"

namespace gpuprobe::inline probe {

/// A pipe whose ends are close-on-exec and numbered above the descriptors that a worker gets.
struct Pipe {
    UniqueFd read = {};
    UniqueFd write = {};
    /// Errors: Io.
    static Result<Pipe> create();
};

/// A pipe to which a worker writes. Reading does not block, but writing does. Errors: Io.
Result<Pipe> worker_pipe();

/// Reads a child's start report. Returns 0 if the child runs its program, otherwise the errno of
/// the failure; the errno is negated if setting up the namespaces failed.
int problem_from(int report);

/// A duplicate of the descriptor, with a number above the descriptors that a worker gets. Errors:
/// Io.
Result<UniqueFd> raised(UniqueFd low);

/// A program to run as a worker: stdin is `input` or /dev/null, stdout and stderr are `output`,
/// descriptor 3 is `frames`, and no other descriptor is open.
struct SpawnOrder {
    std::vector<std::string> arguments = {};  ///< the program's path, and its arguments
    std::vector<std::string> environment = {};
    int frames = -1;  ///< descriptor for frames; borrowed; from raised() or a Pipe
    int output = -1;  ///< descriptor for output; borrowed; from raised() or a Pipe
    /// descriptor for stdin, or -1 for /dev/null; borrowed; from raised() or a Pipe
    int input = -1;
    std::string folder = "/";  ///< the worker's working directory
    /// The worker's namespaces, borrowed; null if the worker shares all our namespaces.
    const Namespaces* namespaces = nullptr;
};

/// The reaper process of one program (see become_keeper()). The reaper ends in the same way as the
/// program, after all processes that the program started have ended. If the reaper gets SIGTERM, it
/// ends all processes that the program started.
struct SpawnedProcess {
    pid_t pid = -1;  ///< a child that has not been reaped
    UniqueFd pidfd = {};
};

/// A process that has been forked but may not be running its program yet. The owner must reap the
/// process.
struct StartingProcess {
    SpawnedProcess process = {};
    std::string program = {};
    UniqueFd report = {};  ///< descriptor for problem_from(); closed once the program runs
};

/// Protects this process from its workers, which may run as the same user: makes its memory and
/// descriptors in /proc inaccessible (PR_SET_DUMPABLE, prctl(2)) and ignores the signals that a
/// descriptor can send to its owner. Every program that starts workers must call this function
/// first.
void shut_out_workers();

/// Starts a program in a new process group. The program is killed when the thread that started it
/// ends. The program gets no new privileges, no capabilities, no core dumps, a file size limit and
/// an empty signal mask. There is no limit on address space: CUDA reserves more address space than
/// any machine has memory. Processes and threads are limited only inside namespaces; outside, the
/// kernel would count all processes of the user, so the worker limits itself
/// (backends/sandbox.cpp).
///
/// Returns after the fork. await_running() reports whether the program runs; after the process has
/// ended, has_run() reports whether the program ran. Errors: ProbeFailed, which names the program.
Result<StartingProcess> spawn(const SpawnOrder& order);

/// Waits until the program runs. On an error the process has been reaped. Errors: ProbeFailed,
/// naming the program; Unavailable if the machine does not allow the namespaces.
Status await_running(StartingProcess& starting);

/// Whether a process that has ended was able to run its program; never waits.
bool has_run(const StartingProcess& ended);

}  // namespace gpuprobe::inline probe
