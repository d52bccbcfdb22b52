// SPDX-License-Identifier: Apache-2.0
#include "backends/sandbox.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <asm/ioctls.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/case_name.h"

namespace gpuprobe::backends {
namespace sandbox_test {

constexpr int kNoFilter = 254;
/// The protections: Landlock and two filters. A worker's launcher also creates namespaces.
constexpr std::size_t kAllThatHold = 3;

/// The errno of the call within a confined process; 0 if the call succeeds, kNoFilter if the
/// process was not confined.
int errno_of(long (*call)()) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (confine({}).by.size() != kAllThatHold)
            ::_exit(kNoFilter);
        errno = 0;
        ::_exit(call() < 0 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

long open_socket(int family, int type) {
    return ::socket(family, type | SOCK_CLOEXEC, 0);
}

pid_t tested = 0;

/// Makes the call in a grandchild, because a worker is a grandchild of the service that starts it.
int errno_as_a_grandchild(long (*call)()) {
    tested = ::getpid();
    const pid_t keeper = ::fork();
    if (keeper == 0)
        ::_exit(errno_of(call));
    int status = 0;
    ::waitpid(keeper, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

long fork_and_wait() {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    return ::waitpid(child, nullptr, 0);
}

long map_code() {
    return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0) == MAP_FAILED
               ? -1
               : 0;
}

/// Uses a notification descriptor of a filter, because no other descriptor accepts this request.
long answer_for_unknown_calls() {
    std::uint64_t nothing = 0;
    for (int fd = 3; fd < 1024; ++fd)
        if (::ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &nothing) == 0 || errno == ENOENT)
            return 0;
    errno = EBADF;
    return -1;
}

/// Forbids seccomp(2), like `@system-service` of systemd 252, and like some containers.
bool take_away_seccomp() {
    sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{.len = std::size(steps), .filter = steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/// Runs in a process in which seccomp(2) is not available.
int errno_without_seccomp(long (*call)()) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(take_away_seccomp() ? errno_of(call) : kNoFilter);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// In a process that is not confined, each call succeeds or fails with a different error.
struct Case {
    const char* name;
    long (*call)();
    int want;
};
class ConfinedProcess : public ::testing::TestWithParam<Case> {};

TEST_P(ConfinedProcess, MayOrMayNot) {
    EXPECT_EQ(errno_of(GetParam().call), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    May,
    ConfinedProcess,
    ::testing::Values(
        Case{"Fork", fork_and_wait, 0},
        Case{"WaitForAllItsChildren",
             [] { return ::wait(nullptr) < 0 && errno == ECHILD ? 0L : -1L; }, 0},
        Case{"MakeFilesThatItRuns",
             [] {
                 const int file = ::open("confined", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
                 return file < 0 ? -1L : long{::close(file) | ::unlink("confined")};
             },
             0},
        Case{"SignalItself", [] { return static_cast<long>(::kill(::getpid(), 0)); }, 0},
        Case{"MapMemoryToRunCodeFrom", map_code, 0},
        Case{"OpenUnixSockets", [] { return open_socket(AF_UNIX, SOCK_STREAM); }, 0},
        Case{"WriteToItsFolder",
             [] {
                 const int file = ::open("confined", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
                 return file < 0 ? -1L : long{::close(file) | ::unlink("confined")};
             },
             0},
        Case{"WriteToNowhere", [] { return long{::open("/dev/null", O_RDWR | O_CLOEXEC)}; }, 0},
        Case{"ReadNamesOfUsers", [] { return long{::open("/etc/passwd", O_RDONLY)}; }, 0},
        Case{"ReadLibraries", [] { return long{::open("/usr/lib", O_RDONLY)}; }, 0},
        Case{"ReadItsOwnProcess", [] { return long{::open("/proc/self/maps", O_RDONLY)}; }, 0},
        Case{"ReadAboutProcessors", [] { return long{::open("/proc/cpuinfo", O_RDONLY)}; }, 0},
        Case{"ReadAboutDevices", [] { return long{::open("/sys/bus/pci", O_RDONLY)}; }, 0},
        Case{"ScheduleItself",
             [] {
                 cpu_set_t all;
                 return long{::sched_getaffinity(0, sizeof all, &all) |
                             ::sched_setaffinity(0, sizeof all, &all)};
             },
             0},
        Case{"LimitItself",
             [] {
                 rlimit limit = {};
                 return long{::getrlimit(RLIMIT_CORE, &limit) | ::setrlimit(RLIMIT_CORE, &limit)};
             },
             0},
        Case{"AskForItsMemoryPolicy",
             [] { return ::syscall(SYS_get_mempolicy, nullptr, nullptr, 0, 0, 0); }, 0}),
    support::case_name);

TEST(ConfinedWorker, CannotSignalTheProcessThatStartedItsReaper) {
    EXPECT_EQ(errno_as_a_grandchild([] { return static_cast<long>(::kill(tested, 0)); }), EPERM);
    EXPECT_EQ(errno_as_a_grandchild([] { return static_cast<long>(::kill(-tested, 0)); }), EPERM);
    EXPECT_EQ(errno_as_a_grandchild([] { return static_cast<long>(::kill(::getpid(), 0)); }), 0);
}

TEST(ConfinedWorker, IsConfinedIfOnlyPrctlAcceptsFilters) {
    EXPECT_EQ(errno_without_seccomp([] { return static_cast<long>(::kill(::getppid(), 0)); }),
              EPERM);
    EXPECT_EQ(errno_without_seccomp([] { return ::syscall(1000); }), ENOSYS);
    EXPECT_EQ(errno_without_seccomp([] { return static_cast<long>(::kill(::getpid(), 0)); }), 0);
}

INSTANTIATE_TEST_SUITE_P(
    MayNot,
    ConfinedProcess,
    ::testing::Values(
        // No signal is sent: with signal 0, the call only checks whether a signal could be sent.
        Case{"SignalEverybody", [] { return static_cast<long>(::kill(-1, 0)); }, EPERM},
        Case{"SignalItsParent", [] { return static_cast<long>(::kill(::getppid(), 0)); }, EPERM},
        Case{"SignalItsParentsThread",
             [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }, EPERM},
        Case{"SignalItsParentsGroup", [] { return static_cast<long>(::kill(-::getppid(), 0)); },
             EPERM},
        Case{"SignalByDescriptor",
             [] {
                 const auto self = ::syscall(SYS_pidfd_open, ::getpid(), 0);
                 return ::syscall(SYS_pidfd_send_signal, self, 0, nullptr, 0);
             },
             EPERM},
        Case{"HaveADescriptorKill", [] { return long{::fcntl(0, F_SETSIG, SIGKILL)}; }, EPERM},
        Case{"LimitOthers",
             [] { return ::syscall(SYS_prlimit64, ::getppid(), RLIMIT_CPU, nullptr, nullptr); },
             EPERM},
        Case{"Trace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }, EPERM},
        Case{"ReadOthersMemory",
             [] { return ::syscall(SYS_process_vm_readv, ::getpid(), nullptr, 0, nullptr, 0, 0); },
             EPERM},
        Case{"MakeAUserNamespace", [] { return long{::unshare(CLONE_NEWUSER)}; }, EPERM},
        Case{"CloneIntoAUserNamespace",
             [] {
                 return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr,
                                  nullptr);
             },
             EPERM},
        Case{"HideFlagsInClone3", [] { return ::syscall(SYS_clone3, nullptr, 0); }, ENOSYS},
        Case{"UseIoUring", [] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }, ENOSYS},
        Case{"OpenATree", [] { return ::syscall(SYS_open_tree, -1, "", 0); }, ENOSYS},
        Case{"Mount", [] { return ::syscall(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr); },
             EPERM},
        Case{"AddKeys", [] { return ::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0); },
             EPERM},
        Case{"LoadPrograms", [] { return ::syscall(SYS_bpf, -1, nullptr, 0); }, EPERM},
        Case{"WatchTheMachine", [] { return ::syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0); },
             EPERM},
        Case{"Type", [] { return ::syscall(SYS_ioctl, -1, TIOCSTI, ""); }, EPERM},
        Case{"TypeByAWideNumber",
             [] { return ::syscall(SYS_ioctl, -1, 0xFFFFFFFF00000000UL | TIOCSTI, ""); }, EPERM},
        Case{"ReadPasswords", [] { return long{::open("/etc/shadow", O_RDONLY)}; }, EACCES},
        Case{"ListSettings", [] { return long{::open("/etc", O_RDONLY)}; }, EACCES},
        Case{"ListHomes", [] { return long{::open("/home", O_RDONLY)}; }, EACCES},
        Case{"ReadRootsHome", [] { return long{::open("/root", O_RDONLY)}; }, EACCES},
        Case{"ReadLogs", [] { return long{::open("/var/log", O_RDONLY)}; }, EACCES},
        Case{"ReadWhatProgramsKeep", [] { return long{::open("/var/lib", O_RDONLY)}; }, EACCES},
        Case{"ReadAboutOthers", [] { return long{::open("/proc/1/cmdline", O_RDONLY)}; }, EACCES},
        Case{"WriteElsewhere",
             [] { return long{::open("/var/tmp/confined", O_CREAT | O_WRONLY, 0600)}; }, EACCES},
        Case{"RemoveElsewhere", [] { return long{::unlink("/etc/passwd")}; }, EACCES},
        Case{"ChangeWhomTheKernelKillsFirst",
             [] { return long{::open("/proc/self/oom_score_adj", O_WRONLY)}; }, EACCES},
        Case{"ChooseWhomADescriptorSignals", [] { return long{::fcntl(0, F_SETOWN, 1)}; }, EPERM},
        Case{"ChooseItByARequest",
             [] {
                 int owner = 1;
                 return long{::ioctl(0, FIOSETOWN, &owner)};
             },
             EPERM},
        Case{"ScheduleOthers",
             [] {
                 cpu_set_t all;
                 (void)::sched_getaffinity(0, sizeof all, &all);
                 return long{::sched_setaffinity(::getppid(), sizeof all, &all)};
             },
             EPERM},
        Case{"ChangeOthersPriority",
             [] { return long{::setpriority(PRIO_PROCESS, static_cast<id_t>(::getppid()), 19)}; },
             EPERM},
        Case{"ChangeItsUsersPriority", [] { return long{::setpriority(PRIO_USER, 0, 19)}; }, EPERM},
        Case{"MoveOthersMemory",
             [] { return ::syscall(SYS_move_pages, ::getppid(), 0, nullptr, nullptr, nullptr, 0); },
             EPERM},
        Case{"ChangeModes", [] { return long{::chmod(".", 0700)}; }, EPERM},
        Case{"Connect", [] { return long{::connect(0, nullptr, 0)}; }, EPERM},
        Case{"SendToAnAddress",
             [] {
                 sockaddr address = {.sa_family = AF_UNIX, .sa_data = {}};
                 return long{::sendto(0, "", 0, 0, &address, sizeof address)};
             },
             EPERM},
        Case{"ChangeSegments", [] { return ::syscall(SYS_modify_ldt, 0, nullptr, 0); }, ENOSYS},
        // Use the system call directly: the function of libc makes all threads do the same, or ends
        // the process.
        Case{"BecomeSomebodyElse", [] { return ::syscall(SYS_setuid, ::getuid()); }, EPERM},
        Case{"CallWhatNobodyKnows", [] { return ::syscall(1000); }, ENOSYS},
        Case{"AnswerForSuchCallsItself", answer_for_unknown_calls, EBADF},
        Case{"MakeAFileThatMakesItsUserItsOwner",
             [] { return long{::open("confined", O_CREAT | O_WRONLY | O_CLOEXEC, 04700)}; }, EPERM},
        Case{"MakeSuchAFileWithoutAName",
             [] { return long{::open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 02700)}; }, EPERM},
        Case{"MakeSuchANode", [] { return long{::mknod("confined", S_IFREG | 04700, 0)}; }, EPERM},
        Case{"OpenByAStructure", [] { return ::syscall(SYS_openat2, AT_FDCWD, ".", nullptr, 0); },
             ENOSYS},
        Case{"ChangeFlagsOfFiles",
             [] {
                 int flags = FS_NODUMP_FL;
                 return long{::ioctl(0, FS_IOC_SETFLAGS, &flags)};
             },
             EPERM},
        Case{"ChangeExtendedFlagsOfFiles",
             [] { return long{::ioctl(0, FS_IOC_FSSETXATTR, nullptr)}; }, EPERM},
        Case{"LabelFileSystems", [] { return long{::ioctl(0, FS_IOC_SETFSLABEL, "")}; }, EPERM},
        Case{"AttachPrograms",
             [] { return long{::setsockopt(0, SOL_SOCKET, SO_ATTACH_FILTER, nullptr, 0)}; }, EPERM},
        Case{"TakeTheMachinesRequests", [] { return ::syscall(SYS_io_setup, 1, nullptr); }, ENOSYS},
        Case{"OpenInternetSockets", [] { return open_socket(AF_INET, SOCK_DGRAM); }, EAFNOSUPPORT},
        Case{"OpenPacketSockets", [] { return open_socket(AF_PACKET, SOCK_RAW); }, EAFNOSUPPORT},
        Case{"OpenCryptoSockets", [] { return open_socket(AF_ALG, SOCK_SEQPACKET); },
             EAFNOSUPPORT}),
    support::case_name);

}  // namespace sandbox_test
}  // namespace gpuprobe::backends
