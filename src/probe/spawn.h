// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"
#include "probe/namespaces.h"

namespace gpuprobe::inline probe {

/// Both ends close-on-exec, and above the descriptors that a worker is given.
struct Pipe {
    UniqueFd read = {};
    UniqueFd write = {};
    /// Errors: Io.
    static Result<Pipe> create();
};

/// One for a worker to write to: reading does not block, writing does. Errors: Io.
Result<Pipe> worker_pipe();

/// What a child wrote into its end before it ran a program: the errno that kept it from that,
/// negative where that was one of its namespaces; 0 when it runs.
int problem_from(int report);

/// The same file under a number that no descriptor of a worker has. Errors: Io.
Result<UniqueFd> raised(UniqueFd low);

/// A program to run as a worker: stdin is `input` or /dev/null, stdout and stderr are `output`,
/// descriptor 3 is `frames`, and no other descriptor is open.
struct SpawnOrder {
    std::vector<std::string> arguments = {};  ///< the program's path first
    std::vector<std::string> environment = {};
    int frames = -1;           ///< borrowed; raised, as an end of a Pipe is
    int output = -1;           ///< borrowed; raised
    int input = -1;            ///< borrowed; raised; -1: /dev/null
    std::string folder = "/";  ///< what it is started in
    /// Borrowed; null: it shares all namespaces with us.
    const Namespaces* namespaces = nullptr;
};

/// The keeper (keeper.h) of one program. It ends in the way the program does, once nothing is left
/// of what the program started. SIGTERM to it ends all of them.
struct SpawnedProcess {
    pid_t pid = -1;  ///< a child; not reaped
    UniqueFd pidfd = {};
};

/// One that has been forked, and may not run its program yet. Reaped by whoever has it.
struct StartingProcess {
    SpawnedProcess process = {};
    std::string program = {};
    UniqueFd report = {};  ///< problem_from(); closed once the program has been seen to run
};

/// For every program that starts workers, before it does: closes its memory and its descriptors in
/// /proc to workers, which may be of its own user (PR_SET_DUMPABLE, prctl(2)), and makes it deaf to
/// the signals that a descriptor sends to its owner.
void shut_out_workers();

/// Starts it in a process group of its own, to die with the thread that starts it, without new
/// privileges, capabilities, core dumps, endless files or our signal mask. There is no limit on
/// address space: CUDA reserves more than any machine has. Processes and threads are limited in
/// namespaces of the worker's own; elsewhere the kernel counts those of the whole user, and the
/// worker counts its own (backends/sandbox.cpp).
///
/// Returns after the fork. Whether the program ran is what await_running() says, or has_run() once
/// the process has ended. Errors: ProbeFailed, naming the program.
Result<StartingProcess> spawn(const SpawnOrder& order);

/// Returns when the program runs, or could not; then the process has been reaped. Errors:
/// ProbeFailed, naming the program; Unavailable when the machine gives us no such namespaces.
Status await_running(StartingProcess& starting);

/// Of a process that has ended; never waits.
bool has_run(const StartingProcess& ended);

}  // namespace gpuprobe::inline probe
