// SPDX-License-Identifier: Apache-2.0
#include "probe/spawn.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/units.h"
#include "probe/worker_reaper.h"

namespace gpuprobe::inline probe {
namespace {

constexpr int kFramesFd = 3;
constexpr int kFirstOwnFd = 10;  // above every descriptor that the worker gets
/// With fewer than 64 descriptors CUDA reports "no device" instead of an error.
constexpr rlim_t kMinOpenFiles = 1024;
/// Keeps a driver that never stops writing from filling the disk. Caches stay far below this limit,
/// which also applies to memory that a software driver takes from a memfd.
constexpr rlim_t kMaxFile = mib(256).count;

/// All data that the child needs, prepared before the fork, because the child must not allocate
/// memory.
struct Plan {
    const char* program = nullptr;
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    int input = -1;
    int frames = -1;
    int output = -1;
    int report = -1;  ///< receives errno if the program can't be run; closed once the program runs
    rlimit files = {};
    rlim_t processes = RLIM_INFINITY;  ///< limit on processes and threads
    pid_t parent = -1;
    const char* folder = nullptr;
    const Namespaces* namespaces = nullptr;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const auto& text : texts)
        // execve() does not write to the strings.
        pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

Result<UniqueFd> open_null() {
    UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    if (!null)
        return errno_error("/dev/null", errno);
    return raised(std::move(null));
}

Result<UniqueFd> open_pidfd(pid_t pid) {
    UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};  // close-on-exec
    if (!pidfd)
        return errno_error("pidfd_open", errno);
    return pidfd;
}

/// Our limit on open files, raised to kMinOpenFiles if the hard limit allows this.
rlimit open_files() {
    rlimit files = {};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::max(files.rlim_cur, std::min(kMinOpenFiles, files.rlim_max));
    return files;
}

/// The limit on processes and threads. Since Linux 5.14 a user's processes are counted separately
/// in each user namespace. Older kernels would also count the user's other processes, so on these
/// kernels there is no limit. Root is never limited. Sources: setrlimit(2), RLIMIT_NPROC; Linux
/// commit 21d1c5e386bc.
rlim_t max_processes() {
    constexpr rlim_t kMost = 1024;
    constexpr rlim_t kPerProcessor = 16;  // for drivers that compute on the CPU
    utsname system = {};
    int major = 0;
    int minor = 0;
    if (::uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2 ||
        std::pair{major, minor} < std::pair{5, 14})
        return RLIM_INFINITY;
    return kMost + kPerProcessor * std::thread::hardware_concurrency();
}

// From here to execve only async-signal-safe calls are allowed: another thread may have held any
// lock when this process was forked.

void reset_signals() {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal)
        // The call fails for KILL, STOP and two signals that libc uses.
        ::sigaction(signal, &standard, nullptr);
    // A write that exceeds the file size limit (for instance of Mesa's disk cache) should fail
    // instead of ending the process.
    standard.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &standard, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool arrange_descriptors(const Plan& plan) {
    if (::dup2(plan.input, STDIN_FILENO) < 0 || ::dup2(plan.output, STDOUT_FILENO) < 0 ||
        ::dup2(plan.output, STDERR_FILENO) < 0 || ::dup2(plan.frames, kFramesFd) < 0)
        return false;
    // Our own descriptors are created with close-on-exec; this call is for descriptors that
    // libraries opened. Kernels before 5.11 don't support the flag.
    (void)::syscall(__NR_close_range, kFramesFd + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    return true;
}

bool arrange_limits(const Plan& plan) {
    // The limit is one byte instead of zero, because with a limit of zero, core dump handlers that
    // read from a pipe still run. Source: core(5).
    const rlimit core = {.rlim_cur = 1, .rlim_max = 1};
    (void)::setrlimit(RLIMIT_CORE, &core);  // fails if the hard limit is already lower
    (void)::setrlimit(RLIMIT_NOFILE, &plan.files);
    const rlimit file_size = {.rlim_cur = kMaxFile, .rlim_max = kMaxFile};
    (void)::setrlimit(RLIMIT_FSIZE, &file_size);
    const rlimit processes = {.rlim_cur = plan.processes, .rlim_max = plan.processes};
    if (plan.processes != RLIM_INFINITY)
        (void)::setrlimit(RLIMIT_NPROC, &processes);  // fails if the hard limit is already lower
    ::umask(077);
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::chdir(plan.folder) == 0;
}

/// Prevents root, or root of a user namespace, from keeping capabilities across execve. For all
/// other users, who have no capabilities, the calls fail.
void drop_capabilities() {
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability)
        (void)::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    (void)::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
}

/// Runs in the reaper's child: applies the limits and executes the program.
[[noreturn]] void become_worker(const Plan& plan) {
    reset_signals();
    const bool is_bound = ::setpgid(0, 0) == 0 && ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
    // Exit if the parent ended before PR_SET_PDEATHSIG took effect. In a PID namespace, getppid()
    // returns 0 for a parent outside the namespace, but the init process of the namespace ends with
    // the reaper.
    if (is_bound && !plan.namespaces && ::getppid() != plan.parent)
        ::_exit(EXIT_FAILURE);
    drop_capabilities();
    if (is_bound && arrange_limits(plan) && arrange_descriptors(plan))
        ::execve(plan.program, plan.arguments, plan.environment);
    const int problem = errno;
    (void)!::write(plan.report, &problem, sizeof problem);
    ::_exit(EXIT_FAILURE);
}

/// Reports why the start failed and exits. `problem` is negative if setting up namespaces failed.
[[noreturn]] void give_up(const Plan& plan, int problem) {
    (void)!::write(plan.report, &problem, sizeof problem);
    ::_exit(EXIT_FAILURE);
}

/// Closes all descriptors except `kept` (-1: no exception), on kernels that have close_range().
void close_all_but(int kept) {
    if (kept > 0)
        (void)::syscall(__NR_close_range, 0U, static_cast<unsigned>(kept) - 1, 0U);
    (void)::syscall(__NR_close_range, static_cast<unsigned>(kept + 1), ~0U, 0U);
}

/// Runs in the forked child: becomes the reaper, enters the namespaces, forks the worker and waits.
[[noreturn]] void keep_worker(Plan plan) {
    const bool is_bound = become_keeper(plan.parent);
    plan.parent = ::getpid();
    Kept kept;
    // The first child after enter() becomes the namespace's init process, so the worker must be
    // forked after it.
    if (is_bound && plan.namespaces &&
        (!plan.namespaces->enter() ||
         (kept.first = Namespaces::start_first_process(kept.lifeline)) < 0))
        give_up(plan, -errno);
    kept.worker = is_bound ? ::fork() : -1;
    if (kept.worker == 0)
        become_worker(plan);
    if (kept.worker < 0)
        give_up(plan, errno);
    // The worker must be the only process that holds the pipes' write ends.
    for (const int fd : {plan.report, plan.frames, plan.output})
        ::close(fd);
    close_all_but(kept.lifeline);
    keep(kept);
}

// ------------------------------------------------------------------------------------------------

/// Forks with all signals blocked, so that our signal handlers never run in the child.
pid_t fork_keeper(const Plan& plan) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    if (pid == 0)
        keep_worker(plan);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return pid;
}

/// Whether the error means that the machine never allows namespaces, rather than a temporary lack
/// of resources.
bool is_refusal(int problem) {
    return problem != EMFILE && problem != ENFILE && problem != ENOMEM && problem != EAGAIN;
}

/// Kills and reaps a child.
void discard(pid_t pid) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
        continue;
}

/// Forks the reaper, with /dev/null as stdin unless the plan has an input. Errors: Io.
Result<StartingProcess> forked(Plan plan) {
    UniqueFd null;
    if (plan.input < 0) {
        null = TRY(open_null());
        plan.input = null.get();
    }
    auto report = TRY(Pipe::create());
    plan.report = report.write.get();
    const pid_t pid = fork_keeper(plan);
    if (pid < 0)
        return errno_error("fork", errno);
    auto pidfd = open_pidfd(pid);
    if (!pidfd) {
        discard(pid);
        return std::move(pidfd).error();
    }
    return StartingProcess{.process = {.pid = pid, .pidfd = *std::move(pidfd)},
                           .program = plan.program,
                           .report = std::move(report.read)};
}

}  // namespace

int problem_from(int report) {
    // The write end is closed on exec, so reading ends without data when the program runs.
    int problem = 0;
    ssize_t count = 0;
    do {
        count = ::read(report, &problem, sizeof problem);
    } while (count < 0 && errno == EINTR);
    return count == static_cast<ssize_t>(sizeof problem) ? problem : 0;
}

Result<UniqueFd> raised(UniqueFd low) {
    if (low.get() >= kFirstOwnFd)
        return low;
    UniqueFd high{::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstOwnFd)};
    if (!high)
        return errno_error("duplicating a descriptor", errno);
    return high;
}

Result<Pipe> Pipe::create() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return errno_error("pipe", errno);
    UniqueFd low_read{ends[0]};
    UniqueFd low_write{ends[1]};
    auto read = TRY(raised(std::move(low_read)));
    auto write = TRY(raised(std::move(low_write)));
    return Pipe{.read = std::move(read), .write = std::move(write)};
}

Result<Pipe> worker_pipe() {
    auto pipe = TRY(Pipe::create());
    if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0)
        return errno_error("fcntl", errno);
    return pipe;
}

void shut_out_workers() {
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    struct sigaction ignored = {};
    ignored.sa_handler = SIG_IGN;
    // A worker shares pipes and sockets with us, through which it could send these signals to us
    // (fcntl F_SETOWN).
    for (const int signal : {SIGIO, SIGURG})
        (void)::sigaction(signal, &ignored, nullptr);
}

Result<StartingProcess> spawn(const SpawnOrder& order) {
    const auto arguments = pointers_to(order.arguments);
    const auto environment = pointers_to(order.environment);
    auto starting = forked(Plan{.program = arguments.front(),
                                .arguments = arguments.data(),
                                .environment = environment.data(),
                                .input = order.input,
                                .frames = order.frames,
                                .output = order.output,
                                .files = open_files(),
                                .processes = order.namespaces ? max_processes() : RLIM_INFINITY,
                                .parent = ::getpid(),
                                .folder = order.folder.c_str(),
                                .namespaces = order.namespaces});
    if (!starting)
        return Error{ErrorCode::ProbeFailed,
                     order.arguments.front() + ": " + starting.error().text};
    return starting;
}

Status await_running(StartingProcess& starting) {
    const int problem = problem_from(std::exchange(starting.report, {}).get());
    if (problem == 0)
        return Done{};
    discard(starting.process.pid);
    // Return Unavailable only for a permanent refusal, because then the caller starts workers
    // without namespaces.
    if (problem < 0 && is_refusal(-problem))
        return Error{ErrorCode::Unavailable, errno_error("namespaces", -problem).text};
    return Error{ErrorCode::ProbeFailed,
                 starting.program + ": " + errno_error("cannot be run", std::abs(problem)).text};
}

bool has_run(const StartingProcess& ended) {
    if (!ended.report)
        return true;
    // If the reaper was killed, another process may still hold the other end of the pipe, so don't
    // block.
    (void)::fcntl(ended.report.get(), F_SETFL, O_NONBLOCK);
    return problem_from(ended.report.get()) == 0;
}

}  // namespace gpuprobe::inline probe
