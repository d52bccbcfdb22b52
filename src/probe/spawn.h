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

/// Reads a child's start report: the errno that kept it from running its program, negative if
/// setting up the namespaces failed; 0 if the program runs.
int problem_from(int report);

/// A duplicate of the descriptor, with a number above the descriptors that a worker gets. Errors:
/// Io.
Result<UniqueFd> raised(UniqueFd low);

/// A program to run as a worker: stdin is `input` or /dev/null, stdout and stderr are `output`,
/// descriptor 3 is `frames`, and no other descriptor is open.
struct SpawnOrder {
    std::vector<std::string> arguments = {};  ///< the first is the program's path
    std::vector<std::string> environment = {};
    int frames = -1;           ///< borrowed; from raised() or a Pipe
    int output = -1;           ///< borrowed; from raised() or a Pipe
    int input = -1;            ///< borrowed; from raised() or a Pipe; -1: /dev/null
    std::string folder = "/";  ///< working directory
    /// Borrowed; null: the worker shares all our namespaces.
    const Namespaces* namespaces = nullptr;
};

/// The reaper process of one program (see become_keeper()). The reaper ends in the same way as the
/// program, after all processes that the program started have ended. If the reaper gets SIGTERM, it
/// ends all these processes.
struct SpawnedProcess {
    pid_t pid = -1;  ///< a child that has not been reaped
    UniqueFd pidfd = {};
};

/// A process that has been forked but may not be running its program yet. The owner must reap the
/// process.
struct StartingProcess {
    SpawnedProcess process = {};
    std::string program = {};
    UniqueFd report = {};  ///< for problem_from(); closed once the program is known to run
};

/// Protects this process from its workers, which may run as the same user: makes its memory and
/// descriptors in /proc inaccessible (PR_SET_DUMPABLE, prctl(2)) and ignores the signals that a
/// descriptor can send to its owner. Every program that starts workers must call this function
/// first.
void shut_out_workers();

/// Starts a program in a new process group. The program is killed when the thread that started it
/// ends. It gets no new privileges, no capabilities, no core dumps, a file size limit and an empty
/// signal mask. There is no limit on address space: CUDA reserves more than any machine has.
/// Processes and threads are limited only inside namespaces; outside, the kernel would count all
/// processes of the user, so the worker limits itself (backends/sandbox.cpp).
///
/// Returns after the fork. await_running() reports whether the program runs, or has_run() after the
/// process has ended. Errors: ProbeFailed, naming the program.
Result<StartingProcess> spawn(const SpawnOrder& order);

/// Waits until the program runs. On an error the process has been reaped. Errors: ProbeFailed,
/// naming the program; Unavailable if the machine does not allow the namespaces.
Status await_running(StartingProcess& starting);

/// Whether a process that has ended had run its program; never waits.
bool has_run(const StartingProcess& ended);

}  // namespace gpuprobe::inline probe
