// SPDX-License-Identifier: Apache-2.0
#include "cli/polkit_agent.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::inline cli {
namespace {

// The path where polkit installs the agent, and the time to wait for the agent.
constexpr const char* kProgram = "/usr/bin/pkttyagent";
constexpr int kPatienceMilliseconds = 5000;

/// Starts the agent. The agent closes the descriptor `ready` as soon as polkit can use the agent.
/// Source: polkit, pkttyagent(1), --notify-fd. Returns -1 if the agent could not be started.
pid_t started(int ready) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ready, 3);
    std::string words[] = {kProgram, "--notify-fd=3", "--fallback"};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t pid = -1;
    if (::posix_spawn(&pid, kProgram, &actions, nullptr, arguments, environ) != 0)
        pid = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    return pid;
}

}  // namespace

bool PolkitAgent::somebody_is_there() {
    return ::geteuid() != 0 && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

PolkitAgent::PolkitAgent() {
    int ends[2] = {-1, -1};
    // poll() below returns when the agent closes the last copy of `writing`.
    if (!somebody_is_there() || ::access(kProgram, X_OK) != 0 || ::pipe2(ends, O_CLOEXEC) != 0)
        return;
    const UniqueFd reading{ends[0]};
    UniqueFd writing{ends[1]};
    pid_ = started(writing.get());
    writing.reset();
    pollfd closed{.fd = reading.get(), .events = POLLIN, .revents = 0};
    // If poll() times out, polkit refuses the call and gives a reason.
    (void)::poll(&closed, 1, kPatienceMilliseconds);
}

/// Ends the agent, because the call that needed it is over.
PolkitAgent::~PolkitAgent() {
    if (pid_ < 0)
        return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
}

}  // namespace gpuprobe::inline cli
