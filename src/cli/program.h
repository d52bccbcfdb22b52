// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/result.h"

namespace gpuprobe::inline cli {

/// How a program ended: with an exit status or by a signal.
struct ProgramEnd {
    std::optional<int> status = {};
    std::optional<int> signal = {};
};

/// A program that this process runs as if the user had started it directly. The program has this
/// process's standard streams, working directory, process group (and therefore the terminal) and
/// environment, plus additional variables. Signals that are sent to this process are passed on;
/// signals from the terminal reach the program directly. If the program is stopped, this process
/// stops too, and both continue together.
class Program {
public:
    using Ended = std::function<void(ProgramEnd)>;

    /// Runs a program without a shell; execvp(3) finds the program. `more` contains additional
    /// variables. `ended` is called once, from the loop, which must outlive this object. Errors:
    /// NotFound, PermissionDenied or Io, with the name of the program.
    static Result<std::unique_ptr<Program>> start(EventLoop& loop,
                                                  const std::vector<std::string>& words,
                                                  const std::map<std::string, std::string>& more,
                                                  Ended ended);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    Program(pid_t pid, UniqueFd signals, sigset_t before, Ended ended);
    void read_signals();
    void pass_on(int signal, bool is_of_terminal) const;
    void wait();

    pid_t pid_ = -1;
    UniqueFd signals_ = {};
    sigset_t before_ = {};
    Ended ended_ = {};
    EventHandle watch_ = {};
};

/// Ends this process by the signal that ended the program. Flush buffers before you call this
/// function. Returns only if the signal does not end processes.
void die_by(int signal);

}  // namespace gpuprobe::inline cli
