// SPDX-License-Identifier: Apache-2.0

// Generates the worker's system-call filters as C++ source at build time. Compiling the filters
// takes two milliseconds, which every worker would otherwise spend before loading its driver. The
// call numbers depend on the processor that runs this program, so a cross build runs it in an
// emulator.
// Usage: gpuprobe-filter-programs FILE

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/sandbox.h"
#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

using Filter = CHandle<void, seccomp_release>;
using File = CHandle<std::FILE, std::fclose>;

/// Calls that are refused for all arguments.
constexpr std::array kRefused = {
    // Calls that access other processes.
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(process_madvise),
    // Calls for kernel code, tracing and monitoring.
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(syslog), SCMP_SYS(lookup_dcookie), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(fanotify_init),
    // Calls for mounts and namespaces.
    SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    // Calls that change users, groups or owners of files. These calls are on the
    // list of known calls and fail with an error, because glibc repeats set*id calls in every
    // thread
    // of a process.
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid),
    SCMP_SYS(capset), SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat),
    // Calls that change modes and times of files, which Landlock does not restrict.
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(utime), SCMP_SYS(utimes),
    SCMP_SYS(utimensat), SCMP_SYS(futimesat),
    // Calls that connect to sockets of other processes, whose names can be in any folder.
    SCMP_SYS(connect), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg),
    // Calls for key rings.
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    // Calls that change the machine.
    SCMP_SYS(reboot), SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(iopl),
    SCMP_SYS(ioperm), SCMP_SYS(vhangup)};

/// Calls that programs try first but do not need. The arguments of these calls are behind a
/// pointer, where a filter cannot check them (clone3, openat2), or the calls use a resource that is
/// limited for the whole machine (io_setup). Newer calls that our headers do not declare need no
/// entry: they aren't on the list of known calls.
constexpr std::array kUnknown = {SCMP_SYS(clone3),         SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
                                 SCMP_SYS(open_tree),      SCMP_SYS(move_mount),
                                 SCMP_SYS(fsopen),         SCMP_SYS(fsconfig),
                                 SCMP_SYS(fsmount),        SCMP_SYS(fspick),
                                 SCMP_SYS(mount_setattr),  SCMP_SYS(openat2),
                                 SCMP_SYS(io_setup),       SCMP_SYS(io_submit)};

constexpr std::array<scmp_datum_t, 7> kNamespaces = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
                                                     CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
                                                     CLONE_NEWCGROUP};

/// Requests that set which process gets the signals of a descriptor, and a request that sets the
/// generation number of a file.
constexpr std::array<scmp_datum_t, 3> kRequests = {FIOSETOWN, SIOCSPGRP, FS_IOC_SETVERSION};
/// Requests that change a terminal, insert input as if the user had typed it, or make the terminal
/// the controlling terminal. A read-only descriptor is enough for these requests. Before Linux
/// 6.10, Landlock cannot restrict ioctl requests. Source: ioctl_tty(2).
constexpr std::array<scmp_datum_t, 27> kTerminalRequests = {
    TCSETS,   TCSETA,     TCSETAW,   TCSETAF,     TCSBRK,      TCXONC,      TCFLSH,
    TIOCEXCL, TIOCNXCL,   TIOCSCTTY, TIOCSPGRP,   TIOCSTI,     TIOCSWINSZ,  TIOCMBIS,
    TIOCMBIC, TIOCMSET,   TIOCLINUX, TIOCCONS,    TIOCSSERIAL, TIOCPKT,     TIOCSETD,
    TCSBRKP,  TIOCSPTLCK, TIOCSIG,   TIOCVHANGUP, TIOCGPTPEER, TIOCSSOFTCAR};
/// More terminal requests, which must stay allowed on Tegra, where the same numbers enable and
/// disable a group of channels (NVGPU_TSG_IOCTL_ENABLE and _DISABLE in NVIDIA's linux-nvgpu,
/// include/uapi/linux/nvgpu.h).
constexpr std::array<scmp_datum_t, 2> kTerminalRequestsButOnTegra = {TCSETSW, TCSETSF};
/// Socket options that attach programs which the kernel runs on received data.
constexpr std::array<scmp_datum_t, 4> kSocketPrograms = {
    SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF};
/// Types (second byte of the number) of ioctl requests that change files and file systems even
/// through a read-only descriptor: attributes, generations, encryption, snapshots (Btrfs, bcachefs,
/// OCFS2, F2FS, Ceph, CIFS). The last two types lead from a descriptor of a process (0xFF) or a
/// namespace (0xB7) to other namespaces. No GPU driver uses any of these types. Source: Linux 6.12,
/// Documentation/userspace-api/ioctl/ioctl-number.rst, and its uapi headers.
constexpr std::array<scmp_datum_t, 10> kForeignKinds = {'f',  'X',  0x94, 0xBC, 'o',
                                                        0xF5, 0x97, 0xCF, 0xFF, 0xB7};
constexpr scmp_datum_t kKind = 0xFF00;
constexpr scmp_datum_t kIoprioProcess = 1;  // IOPRIO_WHO_PROCESS, ioprio_set(2)

/// F_SETDELEG, Linux 6.19: a delegation makes other processes that change the folder wait for the
/// holder of the delegation.
constexpr int kSetDelegation = 1024 + 16;

constexpr std::uint32_t kDenied = SCMP_ACT_ERRNO(EPERM);
constexpr scmp_datum_t kLowHalf = 0xFFFFFFFF;

/// Collects the results of several calls: problem() is the first negative errno, or 0 if all calls
/// succeeded.
class Steps {
public:
    void operator()(int result) {
        if (problem_ == 0 && result < 0)
            problem_ = result;
    }
    [[nodiscard]] int problem() const { return problem_; }

private:
    int problem_ = 0;
};

/// Refuses sockets of families other than AF_UNIX, calls that send to an address, and programs that
/// are attached to sockets. Unix sockets must stay allowed, because CUDA creates a Unix socket and
/// otherwise fails; CUDA does not connect this socket.
void refuse_sockets(scmp_filter_ctx filter, Steps& step) {
    for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)})
        step(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1,
                              SCMP_A0(SCMP_CMP_NE, AF_UNIX)));
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(sendto), 1, SCMP_A4(SCMP_CMP_NE, 0)));
    for (const auto program : kSocketPrograms)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(setsockopt), 2,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kLowHalf, SOL_SOCKET),
                              SCMP_A2(SCMP_CMP_MASKED_EQ, kLowHalf, program)));
}

/// Refuses to create files with a set-user-ID or set-group-ID bit. Changing the mode of an existing
/// file is refused completely (kRefused).
void refuse_set_id(scmp_filter_ctx filter, Steps& step) {
    for (const scmp_datum_t bit : {S_ISUID, S_ISGID}) {
        const auto with = [bit](unsigned argument) {
            return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bit, bit);
        };
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(creat), 1, with(1)));
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(mknod), 1, with(1)));
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(mknodat), 1, with(2)));
        // The mode argument matters only if the call creates a file.
        for (const scmp_datum_t flag : {O_CREAT, O_TMPFILE}) {
            const auto made = [flag](unsigned argument) {
                return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, flag, flag);
            };
            step(seccomp_rule_add(filter, kDenied, SCMP_SYS(open), 2, made(1), with(2)));
            step(seccomp_rule_add(filter, kDenied, SCMP_SYS(openat), 2, made(2), with(3)));
        }
    }
}

/// Refuses calls that affect other processes of the same user: signals (including those through a
/// descriptor, whose owner receives SIGIO), limits, priorities, memory placement and CPU affinity.
/// A worker in its own PID namespace (`is_alone`) cannot see other processes, so it may change the
/// scheduling of its own threads.
void refuse_others(scmp_filter_ctx filter, bool is_alone, Steps& step) {
    constexpr scmp_datum_t self = kThisProcess;
    for (const int call :
         {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)})
        step(seccomp_rule_add(filter, kDenied, call, 1, SCMP_A0(SCMP_CMP_NE, self)));
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(tkill), 0));
    for (const scmp_datum_t command :
         {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_NOTIFY, F_SETLEASE, kSetDelegation})
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(fcntl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kLowHalf, command)));
    // A process id of 0 means the caller.
    for (const int call : {SCMP_SYS(prlimit64), SCMP_SYS(move_pages), SCMP_SYS(migrate_pages),
                           SCMP_SYS(get_robust_list)})
        step(seccomp_rule_add(filter, kDenied, call, 1, SCMP_A0(SCMP_CMP_NE, 0)));
    if (is_alone)
        return;
    for (const int call :
         {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
          SCMP_SYS(sched_setattr), SCMP_SYS(setpriority), SCMP_SYS(ioprio_set)}) {
        // setpriority and ioprio_set have a kind (process, group, user) as the argument before the
        // id.
        const bool has_kind = call == SCMP_SYS(setpriority) || call == SCMP_SYS(ioprio_set);
        step(seccomp_rule_add(filter, kDenied, call, 1,
                              SCMP_CMP(has_kind ? 1U : 0U, SCMP_CMP_NE, 0)));
    }
    // The kinds group and user affect all processes of a group or of the user.
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(setpriority), 1,
                          SCMP_A0(SCMP_CMP_NE, PRIO_PROCESS)));
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(ioprio_set), 1,
                          SCMP_A0(SCMP_CMP_NE, kIoprioProcess)));
}

/// Refuses ioctl requests. Only the low 32 bits are compared, because the kernel ignores the high
/// bits.
void refuse_requests(scmp_filter_ctx filter, std::span<const scmp_datum_t> requests, Steps& step) {
    for (const auto request : requests)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kLowHalf, request)));
}

/// Adds all rules of the filter that refuses calls.
void refuse(scmp_filter_ctx filter, FilterVariant variant, Steps& step) {
    // The rules aren't valid for calls of another architecture (32-bit programs), so all such
    // calls fail.
    step(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    for (const int call : kRefused)
        step(seccomp_rule_add(filter, kDenied, call, 0));
    for (const int call : kUnknown)
        step(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0));
    for (const auto flag : kNamespaces)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(clone), 1,
                              SCMP_CMP(kCloneFlags, SCMP_CMP_MASKED_EQ, flag, flag)));
    refuse_requests(filter, kRequests, step);
    refuse_requests(filter, kTerminalRequests, step);
    if (!variant.is_tegra)
        refuse_requests(filter, kTerminalRequestsButOnTegra, step);
    for (const auto kind : kForeignKinds)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kKind, kind << 8U)));
    refuse_set_id(filter, step);
    refuse_sockets(filter, step);
    refuse_others(filter, variant.is_alone, step);
}

// The allowed calls, grouped by purpose, under libseccomp's names.
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
    "arch_prctl cacheflush capget execve execveat exit exit_group get_thread_area "
    "getcpu getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getpgid "
    "getpgrp getpid getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 "
    "getrlimit getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kill pidfd_open "
    "prctl prlimit64 riscv_flush_icache rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
    "rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
    "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
    "sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler "
    "sched_yield set_thread_area set_tid_address set_tls setpgid setpriority setrlimit setsid "
    "sigaltstack signalfd signalfd4 sigreturn sysinfo tgkill ugetrlimit uname wait4 waitid "
    "waitpid";

constexpr std::string_view kSockets =
    "accept accept4 bind getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmsg "
    "send sendto setsockopt shutdown socket socketpair";

/// The calls that start processes and threads; the supervisor in sandbox.cpp counts them.
constexpr std::string_view kStarts = "clone fork vfork";

/// Adds the rules for the known calls. With `counts_starts`, the calls that start processes and
/// threads are left out, so that they send a notification.
void allow_known(scmp_filter_ctx filter, bool counts_starts, Steps& step) {
    step(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    step(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));  // optimized as a binary tree
    for (const auto group : {kFiles, kMemory, kWaiting, kProcesses, kSockets,
                             counts_starts ? std::string_view{} : kStarts})
        for (const auto name : words(group)) {
            const int call = seccomp_syscall_resolve_name(std::string{name}.c_str());
            if (call != __NR_SCMP_ERROR)  // older versions of libseccomp lack some names
                step(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0));
        }
}

/// The filter as the kernel loads it; empty if libseccomp fails. libseccomp exports only to a file
/// descriptor.
std::vector<sock_filter> program_of(const Filter& filter) {
    const File file{std::tmpfile()};
    if (!file || seccomp_export_bpf(filter.get(), ::fileno(file.get())) != 0)
        return {};
    std::vector<sock_filter> program(std::size_t{BPF_MAXINSNS});
    std::rewind(file.get());
    program.resize(std::fread(program.data(), sizeof program[0], program.size(), file.get()));
    return program;
}

/// Prints the filter as a C++ array with the name `name`. Returns false if libseccomp failed.
bool write_program(std::string_view name, const Filter& filter, const Steps& steps) {
    const auto program = steps.problem() == 0 ? program_of(filter) : std::vector<sock_filter>{};
    std::printf("constexpr std::array<sock_filter, %zu> %s = {{\n", program.size(), name.data());
    for (const auto& [code, if_true, if_false, value] : program)
        std::printf("    {%u, %u, %u, %u},\n", code, if_true, if_false, value);
    std::printf("}};\n");
    return !program.empty();
}

bool write_refusals(std::string_view name, FilterVariant variant) {
    const Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
    Steps steps;
    refuse(filter.get(), variant, steps);
    return write_program(name, filter, steps);
}

bool write_known(std::string_view name, std::uint32_t unknown) {
    const Filter filter{seccomp_init(unknown)};
    Steps steps;
    allow_known(filter.get(), unknown == SCMP_ACT_NOTIFY, steps);
    return write_program(name, filter, steps);
}

constexpr std::string_view kHead = R"(// Made by backends/filter_programs_main.cpp.

#include "backends/sandbox.h"

#include <array>

namespace gpuprobe::backends {
namespace {

)";
constexpr std::string_view kEnd = R"(
}  // namespace

std::span<const sock_filter> refusals(FilterVariant variant) {
    if (variant.is_alone)
        return variant.is_tegra ? std::span{kAloneOnTegra} : std::span<const sock_filter>{kAlone};
    return variant.is_tegra ? std::span{kAmongOthersOnTegra} : std::span<const sock_filter>{kAmongOthers};
}

std::span<const sock_filter> known_calls(bool asks) {
    return asks ? std::span{kAsks} : std::span<const sock_filter>{kRefuses};
}

}  // namespace gpuprobe::backends
)";

bool write_all() {
    // By default libseccomp uses only features of the running kernel, but the filters will run on a
    // different kernel.
    if (constexpr unsigned kNotifies = 5; seccomp_api_set(kNotifies) != 0)
        return false;
    std::printf("%s", kHead.data());
    const bool is_written = write_refusals("kAlone", {.is_alone = true}) &&
                            write_refusals("kAloneOnTegra", {.is_alone = true, .is_tegra = true}) &&
                            write_refusals("kAmongOthers", {}) &&
                            write_refusals("kAmongOthersOnTegra", {.is_tegra = true}) &&
                            write_known("kAsks", SCMP_ACT_NOTIFY) &&
                            write_known("kRefuses", SCMP_ACT_ERRNO(ENOSYS));
    std::printf("%s", kEnd.data());
    return is_written && std::fflush(stdout) == 0;
}

}  // namespace
}  // namespace gpuprobe::backends

int main(int count, char** arguments) {
    if (count == 2 && std::freopen(arguments[1], "w", stdout) && gpuprobe::backends::write_all())
        return EXIT_SUCCESS;
    (void)std::fprintf(
        stderr, "gpuprobe-filter-programs: FILE is missing, or libseccomp generated no filter\n");
    return EXIT_FAILURE;
}
