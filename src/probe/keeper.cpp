// SPDX-License-Identifier: Apache-2.0
#include "probe/keeper.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/descendants.h"

namespace gpuprobe::inline probe {
namespace {

// A process that is started while the list of children is read may be missing from it, and no
// signal reports it.
constexpr long kFirstPause = 2'000'000;  // nanoseconds
constexpr long kLongestPause = 500'000'000;
/// A shutdown tells all processes to end within this time.
constexpr timespec kTogether = {.tv_sec = 0, .tv_nsec = 50'000'000};
/// What is left is killed this many times; after that it is stopped before it is killed.
constexpr int kSimpleRounds = 8;

enum class Reaped { Nothing, Some, All };

/// Reaps whatever has ended, and keeps how the worker did.
Reaped reap(pid_t worker, siginfo_t& end) {
    for (auto reaped = Reaped::Nothing;; reaped = Reaped::Some) {
        siginfo_t ended = {};
        if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) != 0)
            return errno == ECHILD ? Reaped::All : reaped;
        if (ended.si_pid == 0)
            return reaped;
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

/// Whether SIGTERM comes before the limit, and before `other`.
bool is_told_to_end(const timespec* limit, int other = SIGTERM) {
    sigset_t awaited;
    ::sigemptyset(&awaited);
    ::sigaddset(&awaited, SIGTERM);
    ::sigaddset(&awaited, other);
    return ::sigtimedwait(&awaited, nullptr, limit) == SIGTERM;
}

/// At a shutdown all processes are told to end, the worker as well as this one, and we may see its
/// end first.
bool was_told_with_us(const siginfo_t& end, bool is_told) {
    const bool was_told = end.si_code == CLD_KILLED && end.si_status == SIGTERM;
    return was_told && (is_told || is_told_to_end(&kTogether));
}

/// With the first process of a namespace all others of it end. False where nobody can be found.
bool kill_rest(const Kept& kept) {
    if (kept.first < 0)
        return kill_children();
    ::kill(kept.first, SIGKILL);
    return true;
}

}  // namespace

bool become_keeper(pid_t parent) {
    // If it were ignored, the kernel would reap in our place.
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

void keep(const Kept& kept) {
    const pid_t worker = kept.worker;
    (void)::prctl(PR_SET_NAME, "gpuprobe-keeper", 0, 0, 0);
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the worker is our user, and could attach to us
    siginfo_t end = {};
    timespec pause = {.tv_sec = 0, .tv_nsec = kFirstPause};
    int rounds = 0;
    bool is_told = false;
    bool is_killed = false;
    for (bool is_over = false;;) {
        const auto reaped = reap(worker, end);
        is_over = is_over || end.si_pid != 0;
        if (is_over && kept.first < 0 && reaped != Reaped::All && ++rounds > kSimpleRounds)
            stop_descendants();
        if (reaped == Reaped::All || (is_over && !kill_rest(kept)))
            break;
        if (is_over && reaped == Reaped::Some) {
            pause.tv_nsec = kFirstPause;
            continue;
        }
        if (is_told_to_end(is_over ? &pause : nullptr, SIGCHLD)) {
            is_over = is_told = true;
            (void)reap(worker, end);  // it may have ended by itself just before
            is_killed = is_killed || end.si_pid == 0;
            if (end.si_pid == 0)
                ::kill(-worker, SIGKILL);  // its group, for where children are not listed
        } else if (is_over) {
            pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause);
        }
    }
    if (is_killed || was_told_with_us(end, is_told))
        ::_exit(kExitToldToEnd);
    leave_as(end);
}

}  // namespace gpuprobe::inline probe
