// SPDX-License-Identifier: Apache-2.0
#include "backends/known_calls.h"

#include <array>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handle.h"

namespace gpuprobe::backends {
namespace {

using Filter = CHandle<void, seccomp_release>;

constexpr auto kFiles = std::to_array<int>({SCMP_SYS(access),
                                            SCMP_SYS(chdir),
                                            SCMP_SYS(close),
                                            SCMP_SYS(close_range),
                                            SCMP_SYS(copy_file_range),
                                            SCMP_SYS(creat),
                                            SCMP_SYS(dup),
                                            SCMP_SYS(dup2),
                                            SCMP_SYS(dup3),
                                            SCMP_SYS(faccessat),
                                            SCMP_SYS(faccessat2),
                                            SCMP_SYS(fadvise64),
                                            SCMP_SYS(fallocate),
                                            SCMP_SYS(fchdir),
                                            SCMP_SYS(fcntl),
                                            SCMP_SYS(fcntl64),
                                            SCMP_SYS(fdatasync),
                                            SCMP_SYS(fgetxattr),
                                            SCMP_SYS(flock),
                                            SCMP_SYS(fstat),
                                            SCMP_SYS(fstat64),
                                            SCMP_SYS(fstatat64),
                                            SCMP_SYS(fstatfs),
                                            SCMP_SYS(fstatfs64),
                                            SCMP_SYS(fsync),
                                            SCMP_SYS(ftruncate),
                                            SCMP_SYS(ftruncate64),
                                            SCMP_SYS(getcwd),
                                            SCMP_SYS(getdents),
                                            SCMP_SYS(getdents64),
                                            SCMP_SYS(getxattr),
                                            SCMP_SYS(inotify_add_watch),
                                            SCMP_SYS(inotify_init),
                                            SCMP_SYS(inotify_init1),
                                            SCMP_SYS(inotify_rm_watch),
                                            SCMP_SYS(ioctl),
                                            SCMP_SYS(lgetxattr),
                                            SCMP_SYS(link),
                                            SCMP_SYS(linkat),
                                            SCMP_SYS(listxattr),
                                            SCMP_SYS(lseek),
                                            SCMP_SYS(lstat),
                                            SCMP_SYS(lstat64),
                                            SCMP_SYS(memfd_create),
                                            SCMP_SYS(mkdir),
                                            SCMP_SYS(mkdirat),
                                            SCMP_SYS(mknod),
                                            SCMP_SYS(mknodat),
                                            SCMP_SYS(newfstatat),
                                            SCMP_SYS(open),
                                            SCMP_SYS(openat),
                                            SCMP_SYS(_llseek),
                                            SCMP_SYS(pipe),
                                            SCMP_SYS(pipe2),
                                            SCMP_SYS(pread64),
                                            SCMP_SYS(preadv),
                                            SCMP_SYS(preadv2),
                                            SCMP_SYS(pwrite64),
                                            SCMP_SYS(pwritev),
                                            SCMP_SYS(pwritev2),
                                            SCMP_SYS(read),
                                            SCMP_SYS(readahead),
                                            SCMP_SYS(readlink),
                                            SCMP_SYS(readlinkat),
                                            SCMP_SYS(readv),
                                            SCMP_SYS(rename),
                                            SCMP_SYS(renameat),
                                            SCMP_SYS(renameat2),
                                            SCMP_SYS(rmdir),
                                            SCMP_SYS(sendfile),
                                            SCMP_SYS(sendfile64),
                                            SCMP_SYS(splice),
                                            SCMP_SYS(stat),
                                            SCMP_SYS(stat64),
                                            SCMP_SYS(statfs),
                                            SCMP_SYS(statfs64),
                                            SCMP_SYS(statx),
                                            SCMP_SYS(symlink),
                                            SCMP_SYS(symlinkat),
                                            SCMP_SYS(sync_file_range),
                                            SCMP_SYS(tee),
                                            SCMP_SYS(truncate),
                                            SCMP_SYS(truncate64),
                                            SCMP_SYS(umask),
                                            SCMP_SYS(unlink),
                                            SCMP_SYS(unlinkat),
                                            SCMP_SYS(vmsplice),
                                            SCMP_SYS(write),
                                            SCMP_SYS(writev)});

constexpr auto kMemory = std::to_array<int>({SCMP_SYS(brk),
                                             SCMP_SYS(get_mempolicy),
                                             SCMP_SYS(madvise),
                                             SCMP_SYS(mbind),
                                             SCMP_SYS(membarrier),
                                             SCMP_SYS(mincore),
                                             SCMP_SYS(mlock),
                                             SCMP_SYS(mlock2),
                                             SCMP_SYS(mlockall),
                                             SCMP_SYS(mmap),
                                             SCMP_SYS(mmap2),
                                             SCMP_SYS(move_pages),
                                             SCMP_SYS(migrate_pages),
                                             SCMP_SYS(mprotect),
                                             SCMP_SYS(mremap),
                                             SCMP_SYS(msync),
                                             SCMP_SYS(munlock),
                                             SCMP_SYS(munlockall),
                                             SCMP_SYS(munmap),
                                             SCMP_SYS(pkey_alloc),
                                             SCMP_SYS(pkey_free),
                                             SCMP_SYS(pkey_mprotect),
                                             SCMP_SYS(remap_file_pages),
                                             SCMP_SYS(set_mempolicy),
                                             SCMP_SYS(set_mempolicy_home_node)});

constexpr auto kWaiting = std::to_array<int>({SCMP_SYS(alarm),
                                              SCMP_SYS(clock_getres),
                                              SCMP_SYS(clock_getres_time64),
                                              SCMP_SYS(clock_gettime),
                                              SCMP_SYS(clock_gettime64),
                                              SCMP_SYS(clock_nanosleep),
                                              SCMP_SYS(clock_nanosleep_time64),
                                              SCMP_SYS(epoll_create),
                                              SCMP_SYS(epoll_create1),
                                              SCMP_SYS(epoll_ctl),
                                              SCMP_SYS(epoll_pwait),
                                              SCMP_SYS(epoll_pwait2),
                                              SCMP_SYS(epoll_wait),
                                              SCMP_SYS(eventfd),
                                              SCMP_SYS(eventfd2),
                                              SCMP_SYS(futex),
                                              SCMP_SYS(futex_time64),
                                              SCMP_SYS(futex_waitv),
                                              SCMP_SYS(get_robust_list),
                                              SCMP_SYS(getitimer),
                                              SCMP_SYS(gettimeofday),
                                              SCMP_SYS(nanosleep),
                                              SCMP_SYS(_newselect),
                                              SCMP_SYS(pause),
                                              SCMP_SYS(poll),
                                              SCMP_SYS(ppoll),
                                              SCMP_SYS(ppoll_time64),
                                              SCMP_SYS(pselect6),
                                              SCMP_SYS(pselect6_time64),
                                              SCMP_SYS(restart_syscall),
                                              SCMP_SYS(rseq),
                                              SCMP_SYS(select),
                                              SCMP_SYS(set_robust_list),
                                              SCMP_SYS(setitimer),
                                              SCMP_SYS(time),
                                              SCMP_SYS(timer_create),
                                              SCMP_SYS(timer_delete),
                                              SCMP_SYS(timer_getoverrun),
                                              SCMP_SYS(timer_gettime),
                                              SCMP_SYS(timer_settime),
                                              SCMP_SYS(timer_settime64),
                                              SCMP_SYS(timerfd_create),
                                              SCMP_SYS(timerfd_gettime),
                                              SCMP_SYS(timerfd_settime),
                                              SCMP_SYS(timerfd_settime64),
                                              SCMP_SYS(times)});

constexpr auto kProcesses = std::to_array<int>({SCMP_SYS(arch_prctl),
                                                SCMP_SYS(cacheflush),
                                                SCMP_SYS(capget),
                                                SCMP_SYS(clone),
                                                SCMP_SYS(execve),
                                                SCMP_SYS(execveat),
                                                SCMP_SYS(exit),
                                                SCMP_SYS(exit_group),
                                                SCMP_SYS(fork),
                                                SCMP_SYS(get_thread_area),
                                                SCMP_SYS(getcpu),
                                                SCMP_SYS(getegid),
                                                SCMP_SYS(getegid32),
                                                SCMP_SYS(geteuid),
                                                SCMP_SYS(geteuid32),
                                                SCMP_SYS(getgid),
                                                SCMP_SYS(getgid32),
                                                SCMP_SYS(getgroups),
                                                SCMP_SYS(getgroups32),
                                                SCMP_SYS(getpgid),
                                                SCMP_SYS(getpgrp),
                                                SCMP_SYS(getpid),
                                                SCMP_SYS(getppid),
                                                SCMP_SYS(getpriority),
                                                SCMP_SYS(getrandom),
                                                SCMP_SYS(getresgid),
                                                SCMP_SYS(getresgid32),
                                                SCMP_SYS(getresuid),
                                                SCMP_SYS(getresuid32),
                                                SCMP_SYS(getrlimit),
                                                SCMP_SYS(getrusage),
                                                SCMP_SYS(getsid),
                                                SCMP_SYS(gettid),
                                                SCMP_SYS(getuid),
                                                SCMP_SYS(getuid32),
                                                SCMP_SYS(ioprio_get),
                                                SCMP_SYS(ioprio_set),
                                                SCMP_SYS(kill),
                                                SCMP_SYS(pidfd_open),
                                                SCMP_SYS(prctl),
                                                SCMP_SYS(prlimit64),
                                                SCMP_SYS(riscv_flush_icache),
                                                SCMP_SYS(rt_sigaction),
                                                SCMP_SYS(rt_sigpending),
                                                SCMP_SYS(rt_sigprocmask),
                                                SCMP_SYS(rt_sigqueueinfo),
                                                SCMP_SYS(rt_sigreturn),
                                                SCMP_SYS(rt_sigsuspend),
                                                SCMP_SYS(rt_sigtimedwait),
                                                SCMP_SYS(rt_tgsigqueueinfo),
                                                SCMP_SYS(sched_get_priority_max),
                                                SCMP_SYS(sched_get_priority_min),
                                                SCMP_SYS(sched_getaffinity),
                                                SCMP_SYS(sched_getattr),
                                                SCMP_SYS(sched_getparam),
                                                SCMP_SYS(sched_getscheduler),
                                                SCMP_SYS(sched_rr_get_interval),
                                                SCMP_SYS(sched_setaffinity),
                                                SCMP_SYS(sched_setattr),
                                                SCMP_SYS(sched_setparam),
                                                SCMP_SYS(sched_setscheduler),
                                                SCMP_SYS(sched_yield),
                                                SCMP_SYS(set_thread_area),
                                                SCMP_SYS(set_tid_address),
                                                SCMP_SYS(set_tls),
                                                SCMP_SYS(setpgid),
                                                SCMP_SYS(setpriority),
                                                SCMP_SYS(setrlimit),
                                                SCMP_SYS(setsid),
                                                SCMP_SYS(sigaltstack),
                                                SCMP_SYS(signalfd),
                                                SCMP_SYS(signalfd4),
                                                SCMP_SYS(sigreturn),
                                                SCMP_SYS(sysinfo),
                                                SCMP_SYS(tgkill),
                                                SCMP_SYS(ugetrlimit),
                                                SCMP_SYS(uname),
                                                SCMP_SYS(vfork),
                                                SCMP_SYS(wait4),
                                                SCMP_SYS(waitid),
                                                SCMP_SYS(waitpid)});

constexpr auto kSockets = std::to_array<int>(
    {SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(bind), SCMP_SYS(getpeername),
     SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(listen), SCMP_SYS(recv),
     SCMP_SYS(recvfrom), SCMP_SYS(recvmmsg), SCMP_SYS(recvmsg), SCMP_SYS(send), SCMP_SYS(sendto),
     SCMP_SYS(setsockopt), SCMP_SYS(shutdown), SCMP_SYS(socket), SCMP_SYS(socketpair)});

Status load(const Filter& filter) {
    int problem = 0;
    const auto allow = [&](const auto& calls) {
        for (const int call : calls)
            if (problem == 0)
                problem = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    };
    (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree: they are many
    allow(kFiles);
    allow(kMemory);
    allow(kWaiting);
    allow(kProcesses);
    allow(kSockets);
    if (problem == 0)
        problem = seccomp_load(filter.get());
    if (problem != 0)
        return Error{ErrorCode::Internal, "loading the list of system calls: " +
                                              std::generic_category().message(-problem)};
    return Done{};
}

/// Prints the number of a call once.
void tell(int call) {
    static std::bitset<1024> told;
    const auto number = static_cast<std::size_t>(call);
    if (number >= told.size() || told[number])
        return;
    told.set(number);
    std::array<char, 96> line;
    const int length = std::snprintf(line.data(), line.size(),
                                     "system call %zu is not among those for drivers\n", number);
    (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length));
}

struct Telling {
    int descriptor = -1;
    pid_t worker = -1;
};

/// What the process that answers for unknown calls does, until the worker's first thread ends. It
/// keeps the output open and nothing else.
int tell_refusals(void* passed) {
    const auto* telling = static_cast<const Telling*>(passed);
    (void)::prctl(PR_SET_NAME, "gpuprobe-calls", 0, 0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != telling->worker || ::dup2(telling->descriptor, STDIN_FILENO) < 0)
        return EXIT_FAILURE;
    (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)::syscall(__NR_close_range, static_cast<unsigned>(STDERR_FILENO) + 1, ~0U, 0U);
    for (;;) {
        seccomp_notif asked = {};
        if (seccomp_notify_receive(STDIN_FILENO, &asked) != 0) {
            if (errno == EINTR || errno == ENOENT)
                continue;
            return EXIT_FAILURE;
        }
        tell(asked.data.nr);
        seccomp_notif_resp answer = {.id = asked.id, .val = 0, .error = -ENOSYS, .flags = 0};
        (void)seccomp_notify_respond(STDIN_FILENO, &answer);
    }
}

/// In a process of its own, that the driver cannot reach: whoever holds the descriptor may let the
/// calls through as well. No signal tells of its end, so that a driver that waits for its children
/// does not wait for this one (clone(2), "__WCLONE").
void start_teller(int descriptor) {
    alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10U> stack;
    Telling telling{.descriptor = descriptor, .worker = ::getpid()};
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    (void)::clone(tell_refusals, stack.data() + stack.size(), 0, &telling);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    // Without anybody who answers, calls fail with ENOSYS at once.
    ::close(descriptor);
}

}  // namespace

Status allow_known_calls() {
    if (const Filter telling{seccomp_init(SCMP_ACT_NOTIFY)}; telling && load(telling)) {
        start_teller(seccomp_notify_fd(telling.get()));
        return Done{};
    }
    const Filter silent{seccomp_init(SCMP_ACT_ERRNO(ENOSYS))};
    if (!silent)
        return Error{ErrorCode::Internal, "making a list of system calls"};
    return load(silent);
}

}  // namespace gpuprobe::backends
