// SPDX-License-Identifier: Apache-2.0
#include "probe/keeper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe {
namespace {

// What is started while the list of children is read may be missing from it, and no signal tells.
constexpr long kFirstPause = 2'000'000;  // nanoseconds
constexpr long kLongestPause = 500'000'000;

/// SIGKILL to each child. False where the kernel doesn't list them.
/// Source: proc(5), /proc/pid/task/tid/children.
bool kill_children() {
    const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (list < 0)
        return false;
    std::array<char, 4096> text;
    pid_t pid = 0;
    for (ssize_t count = 0; (count = ::read(list, text.data(), text.size())) > 0;)
        for (ssize_t i = 0; i < count; ++i) {
            const char letter = text[static_cast<std::size_t>(i)];
            if (letter >= '0' && letter <= '9') {
                pid = pid * 10 + (letter - '0');
                continue;
            }
            if (pid > 0)
                ::kill(pid, SIGKILL);
            pid = 0;
        }
    ::close(list);
    return true;
}

/// Reaps whatever has ended, and keeps how the worker did. False when no child is left.
bool reap(pid_t worker, siginfo_t& end) {
    for (;;) {
        siginfo_t ended = {};
        if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) != 0)
            return errno != ECHILD;
        if (ended.si_pid == 0)
            return true;
        if (ended.si_pid == worker)
            end = ended;
    }
}

[[noreturn]] void leave_as(const siginfo_t& end) {
    if (end.si_pid == 0 || end.si_code == CLD_EXITED)
        ::_exit(end.si_pid == 0 ? EXIT_FAILURE : end.si_status);
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(end.si_status, &standard, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::kill(::getpid(), end.si_status);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(EXIT_FAILURE);
}

/// Whether SIGTERM has come. Without a limit it waits for that or for the end of a child.
bool is_told_to_end(const timespec* limit) {
    sigset_t awaited;
    ::sigemptyset(&awaited);
    ::sigaddset(&awaited, SIGTERM);
    ::sigaddset(&awaited, SIGCHLD);
    return ::sigtimedwait(&awaited, nullptr, limit) == SIGTERM;
}

}  // namespace

bool become_keeper(pid_t parent) {
    // Ignored, it would have the kernel reap in our place.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, nullptr);
    if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0)
        return false;
    if (::getppid() != parent)
        ::_exit(EXIT_FAILURE);  // it died before the signal was set
    return true;
}

void keep(pid_t worker) {
    (void)::prctl(PR_SET_NAME, "gpuprobe-keeper", 0, 0, 0);
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the worker is our user, and could attach to us
    siginfo_t end = {};
    timespec pause = {.tv_sec = 0, .tv_nsec = kFirstPause};
    for (bool is_over = false;;) {
        const bool has_children = reap(worker, end);
        is_over = is_over || end.si_pid != 0;
        if (!has_children || (is_over && !kill_children()))
            break;
        if (is_told_to_end(is_over ? &pause : nullptr)) {
            is_over = true;
            if (end.si_pid == 0)
                ::kill(-worker, SIGKILL);  // its group, for where children are not listed
        } else if (is_over) {
            pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause);
        }
    }
    leave_as(end);
}

}  // namespace gpuprobe
