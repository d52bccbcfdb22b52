// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_reaper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::inline probe {
namespace {

/// The maximum number of passes in one call, because there may be a process that cannot be stopped.
constexpr int kMaxStops = 100;
constexpr int kMaxDepth = 200;  ///< deeper descendants are reached once their parents have ended

/// A path below /proc, built without allocating.
class ProcessFile {
public:
    explicit ProcessFile(pid_t pid) { *this << "/proc/" << pid; }
    ProcessFile& operator<<(const char* more) {
        while (*more != '\0' && length_ + 1 < text_.size())
            text_[length_++] = *more++;
        return *this;
    }
    ProcessFile& operator<<(pid_t number) {
        std::array<char, 12> digits = {};
        auto at = digits.size() - 1;  // the array ends in a NUL
        for (; number > 0 && at > 0; number /= 10)
            digits[--at] = static_cast<char>('0' + number % 10);
        return *this << &digits[at];
    }
    [[nodiscard]] UniqueFd open() const {
        return UniqueFd{::open(text_.data(), O_RDONLY | O_CLOEXEC)};
    }

private:
    std::array<char, 64> text_ = {};
    std::size_t length_ = 0;
};

/// Calls `use(pid)` for each process in the list. Returns false if the kernel does not provide the
/// list. The list consists of decimal numbers, each followed by a space; a read may end within a
/// number.
/// Source: proc(5), /proc/pid/task/tid/children.
template <class Use>
bool each_child(const UniqueFd& list, Use use) {
    std::array<char, 512> text;
    pid_t pid = 0;
    for (ssize_t count = 0; list && (count = ::read(list.get(), text.data(), text.size())) > 0;)
        for (ssize_t i = 0; i < count; ++i) {
            const char letter = text[static_cast<std::size_t>(i)];
            if (letter >= '0' && letter <= '9') {
                pid = pid * 10 + (letter - '0');
                continue;
            }
            if (pid > 0)
                use(pid);
            pid = 0;
        }
    return static_cast<bool>(list);
}

/// The list of children that the first thread of `pid` has started.
UniqueFd children_of(pid_t pid) {
    return (ProcessFile{pid} << "/task/" << pid << "/children").open();
}

struct ProcessState {
    char letter = 'X';
    pid_t parent = 0;
};

/// Source: proc(5), /proc/pid/stat: "pid (name) state parent …".
ProcessState state_of(pid_t pid) {
    std::array<char, 256> text = {};
    const auto file = (ProcessFile{pid} << "/stat").open();
    const auto count = file ? ::read(file.get(), text.data(), text.size()) : -1;
    auto at = count;
    // The name may contain parentheses and spaces, so search for the end of the name from the end
    // of the string.
    while (at > 0 && text[static_cast<std::size_t>(at - 1)] != ')')
        --at;
    if (at <= 0 || at + 3 >= count)
        return {};
    ProcessState state{.letter = text[static_cast<std::size_t>(at + 1)]};
    for (at += 3; at < count; ++at) {
        const char letter = text[static_cast<std::size_t>(at)];
        if (letter < '0' || letter > '9')
            break;
        state.parent = state.parent * 10 + (letter - '0');
    }
    return state;
}

/// Sends SIGSTOP to all descendants of `parent`. Returns true if any descendant was still running.
bool stop_below(pid_t parent, int depth) {
    bool still_ran = false;
    (void)each_child(children_of(parent), [&](pid_t pid) {
        // Signal through a pidfd, and only if the pidfd still refers to the listed process: its pid
        // may have been reused by now.
        const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        const auto state = state_of(pid);
        if (!process || state.parent != parent)
            return;
        if (state.letter != 'T' && state.letter != 'Z') {
            still_ran = true;
            ::syscall(SYS_pidfd_send_signal, process.get(), SIGSTOP, nullptr, 0);
        }
        if (depth < kMaxDepth && stop_below(pid, depth + 1))
            still_ran = true;
    });
    return still_ran;
}

/// Sends SIGKILL to each child of this process. Returns false if the kernel does not list the
/// children.
bool kill_children() {
    return each_child(children_of(::getpid()), [](pid_t pid) { ::kill(pid, SIGKILL); });
}

/// Sends SIGSTOP to all descendants until none of them is running.
///
/// Stopping works even against a program that keeps starting processes up to a limit, each in a
/// separate session: if a process is killed, the program can start another, whereas a stopped
/// process still counts towards the limit.
void stop_descendants() {
    for (int looks = 0; looks < kMaxStops && stop_below(::getpid(), 0); ++looks)
        continue;
}

// Pauses between two rounds of killing, in nanoseconds. Rounds are needed because the list of
// children may miss a process that starts while the list is read, and no signal reports such a
// process.
constexpr long kFirstPause = 2'000'000;
constexpr long kLongestPause = 500'000'000;
/// At a shutdown, all processes get SIGTERM within this time.
constexpr timespec kTogether = {.tv_sec = 0, .tv_nsec = 50'000'000};
/// The number of rounds in which processes are only killed; in later rounds, all descendants are
/// stopped before they are killed.
constexpr int kSimpleRounds = 8;

enum class Reaped { Nothing, Some, All };

/// Reaps every child that has ended, and stores in `end` how the worker ended. The result All means
/// that there are no children left.
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

/// Ends this process in the same way as the worker ended: same exit status or same signal.
[[noreturn]] void leave_as(const siginfo_t& end) {
    if (end.si_pid == 0 || end.si_code == CLD_EXITED)
        ::_exit(end.si_pid == 0 ? EXIT_FAILURE : end.si_status);
    // The signal is delivered when it is unblocked.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(end.si_status, &standard, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::kill(::getpid(), end.si_status);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::_exit(EXIT_FAILURE);
}

/// Waits for at most `limit` (null: without a limit). Returns true if SIGTERM arrives before
/// `other`.
bool receives_sigterm(const timespec* limit, int other = SIGTERM) {
    sigset_t awaited;
    ::sigemptyset(&awaited);
    ::sigaddset(&awaited, SIGTERM);
    ::sigaddset(&awaited, other);
    return ::sigtimedwait(&awaited, nullptr, limit) == SIGTERM;
}

/// Whether the worker was ended by the same shutdown as this process. At a shutdown, this process
/// and the worker both get SIGTERM, and this process may detect the worker's end before it gets its
/// own signal.
bool was_ended_with_us(const siginfo_t& end, bool has_sigterm) {
    const bool was_terminated = end.si_code == CLD_KILLED && end.si_status == SIGTERM;
    return was_terminated && (has_sigterm || receives_sigterm(&kTogether));
}

/// Kills the worker's remaining processes. In a PID namespace, killing the init process ends all
/// other processes. Returns false if the processes can't be found.
bool kill_rest(const Kept& kept) {
    if (kept.first < 0)
        return kill_children();
    ::kill(kept.first, SIGKILL);
    return true;
}

}  // namespace

bool become_keeper(pid_t parent) {
    // If SIGCHLD were ignored, the kernel would reap the children and drop their exit status.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, nullptr);
    if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0)
        return false;
    if (::getppid() != parent)
        ::_exit(EXIT_FAILURE);  // the parent ended before PR_SET_PDEATHSIG took effect
    return true;
}

/// There are two phases. First, this function waits for SIGCHLD or SIGTERM until the worker has
/// ended or must end (is_over). After that, the function kills and reaps all remaining processes,
/// with pauses that double as long as there is no progress.
void keep(const Kept& kept) {
    const pid_t worker = kept.worker;
    (void)::prctl(PR_SET_NAME, "gpuprobe-keeper", 0, 0, 0);
    // The worker runs as the same user as this process. Without this call, the worker could attach
    // to this process.
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    siginfo_t end = {};
    timespec pause = {.tv_sec = 0, .tv_nsec = kFirstPause};
    int rounds = 0;
    bool has_sigterm = false;
    bool is_killed = false;
    for (bool is_over = false;;) {
        const auto reaped = reap(worker, end);
        is_over = is_over || end.si_pid != 0;
        if (is_over && kept.first < 0 && reaped != Reaped::All && ++rounds > kSimpleRounds)
            stop_descendants();
        if (reaped == Reaped::All || (is_over && !kill_rest(kept)))
            break;
        // There was progress: check again immediately for orphans that have just become our
        // children.
        if (is_over && reaped == Reaped::Some) {
            pause.tv_nsec = kFirstPause;
            continue;
        }
        if (receives_sigterm(is_over ? &pause : nullptr, SIGCHLD)) {
            is_over = has_sigterm = true;
            (void)reap(worker, end);  // the worker may have ended by itself just before
            is_killed = is_killed || end.si_pid == 0;
            if (end.si_pid == 0)
                ::kill(-worker, SIGKILL);  // the worker's process group, if children are not listed
        } else if (is_over) {
            pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause);
        }
    }
    if (is_killed || was_ended_with_us(end, has_sigterm))
        ::_exit(kExitTerminated);
    leave_as(end);
}

}  // namespace gpuprobe::inline probe
