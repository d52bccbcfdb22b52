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
#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe::inline cli {

/// How a program ended: one of the two.
struct ProgramEnd {
    std::optional<int> status = {};
    std::optional<int> signal = {};
};

/// A program in our place: it has our standard streams, our folder, our process group and so the
/// terminal, and our environment but for what it is given. Signals that somebody sends us are sent
/// on to it; those of the terminal it gets itself. When it is stopped we stop, and go on together.
class Program {
public:
    using Ended = std::function<void(ProgramEnd)>;

    /// Runs it without a shell, as execvp(3) finds it. `ended` is called once, from the loop, which
    /// must outlive this. Errors: NotFound, PermissionDenied or Io, naming the program.
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

/// Ends this process as the program was ended. What is buffered must have been written. Returns
/// only where the signal does not end a process.
void die_by(int signal);

}  // namespace gpuprobe::inline cli
