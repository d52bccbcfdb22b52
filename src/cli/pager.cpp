// SPDX-License-Identifier: Apache-2.0
#include "cli/pager.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe::inline cli {
namespace {

/// As a shell runs it; "" where there is none.
std::string pager_command() {
    for (const char* name : {"GPUPROBE_PAGER", "PAGER"})
        if (const char* set = std::getenv(name))
            return std::string_view{set} == "cat" ? "" : set;
    for (const char* path : {"/usr/bin/less", "/bin/less"})
        if (::access(path, X_OK) == 0)
            return path;
    return "";
}

/// In the child: reads what the parent prints. As for systemctl, less ends by itself where all of
/// it fits, keeps colours, and leaves the text on the screen.
[[noreturn]] void become_pager(const std::string& command, int input) {
    ::dup2(input, STDIN_FILENO);
    ::setenv("LESS", "FRSXMK", 0);
    ::setenv("LESSCHARSET", "utf-8", 0);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
}

}  // namespace

bool sleep_for(std::chrono::milliseconds time) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigset_t before;
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    const timespec limit = {.tv_sec = time.count() / 1000,
                            .tv_nsec = time.count() % 1000 * 1'000'000};
    int signal = -1;
    do {
        signal = ::sigtimedwait(&signals, nullptr, &limit);
    } while (signal < 0 && errno == EINTR);
    (void)sigprocmask(SIG_SETMASK, &before, nullptr);
    return signal < 0;
}

void Pager::start() {
    const auto command = pager_command();
    std::array<int, 2> ends{};
    if (command.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0)
        return;
    std::fflush(stdout);
    pid_ = ::fork();
    if (pid_ == 0)
        become_pager(command, ends[0]);
    if (pid_ > 0)
        ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
}

Pager::~Pager() {
    if (pid_ <= 0)
        return;
    // An interrupt is for who reads; whoever ends it ends us.
    (void)std::signal(SIGINT, SIG_IGN);
    std::fflush(stdout);
    ::close(STDOUT_FILENO);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace gpuprobe::inline cli
