// SPDX-License-Identifier: Apache-2.0
#include "backends/known_calls.h"

#include <array>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handle.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

using Filter = CHandle<void, seccomp_release>;

// By what they are for, under libseccomp's names.
constexpr std::string_view kFiles =
    "access chdir close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 "
    "fadvise64 fallocate fchdir fcntl fcntl64 fdatasync fgetxattr flock fstat fstat64 fstatat64 "
    "fstatfs fstatfs64 fsync ftruncate ftruncate64 getcwd getdents getdents64 getxattr "
    "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lgetxattr link linkat "
    "listxattr lseek lstat lstat64 memfd_create mkdir mkdirat mknod mknodat newfstatat open "
    "openat _llseek pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead "
    "readlink readlinkat readv rename renameat renameat2 rmdir sendfile sendfile64 splice stat "
    "stat64 statfs statfs64 statx symlink symlinkat sync_file_range tee truncate truncate64 umask "
    "unlink unlinkat vmsplice write writev";

constexpr std::string_view kMemory =
    "brk get_mempolicy madvise mbind membarrier mincore mlock mlock2 mlockall mmap mmap2 "
    "move_pages migrate_pages mprotect mremap msync munlock munlockall munmap pkey_alloc "
    "pkey_free pkey_mprotect remap_file_pages set_mempolicy set_mempolicy_home_node";

constexpr std::string_view kWaiting =
    "alarm clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep "
    "clock_nanosleep_time64 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 "
    "epoll_wait eventfd eventfd2 futex futex_time64 futex_waitv get_robust_list getitimer "
    "gettimeofday nanosleep _newselect pause poll ppoll ppoll_time64 pselect6 pselect6_time64 "
    "restart_syscall rseq select set_robust_list setitimer time timer_create timer_delete "
    "timer_getoverrun timer_gettime timer_settime timer_settime64 timerfd_create timerfd_gettime "
    "timerfd_settime timerfd_settime64 times";

constexpr std::string_view kProcesses =
    "arch_prctl cacheflush capget clone execve execveat exit exit_group fork get_thread_area "
    "getcpu getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getpgid "
    "getpgrp getpid getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 "
    "getrlimit getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kill pidfd_open "
    "prctl prlimit64 riscv_flush_icache rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
    "rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
    "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
    "sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler "
    "sched_yield set_thread_area set_tid_address set_tls setpgid setpriority setrlimit setsid "
    "sigaltstack signalfd signalfd4 sigreturn sysinfo tgkill ugetrlimit uname vfork wait4 waitid "
    "waitpid";

constexpr std::string_view kSockets =
    "accept accept4 bind getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmsg "
    "send sendto setsockopt shutdown socket socketpair";

Status load(const Filter& filter) {
    int problem = 0;
    const auto allow = [&](std::string_view calls) {
        for (const auto name : words(calls)) {
            const int call = seccomp_syscall_resolve_name(std::string{name}.c_str());
            if (problem == 0 && call != __NR_SCMP_ERROR)  // no name of an older library
                problem = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
        }
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
