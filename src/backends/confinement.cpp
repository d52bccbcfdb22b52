// SPDX-License-Identifier: Apache-2.0
#include "backends/confinement.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <asm/ioctls.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/files.h"
#include "base/handle.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

using Filter = CHandle<void, seccomp_release>;

constexpr std::array kRefused = {
    // Other processes.
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(process_madvise),
    // The kernel's own code and what it watches.
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(syslog), SCMP_SYS(lookup_dcookie), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(fanotify_init),
    // Mounts and namespaces.
    SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    // Keys.
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    // The machine.
    SCMP_SYS(reboot), SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(iopl),
    SCMP_SYS(ioperm), SCMP_SYS(vhangup)};

constexpr std::array kUnknown = {SCMP_SYS(clone3),         SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
                                 SCMP_SYS(open_tree),      SCMP_SYS(move_mount),
                                 SCMP_SYS(fsopen),         SCMP_SYS(fsconfig),
                                 SCMP_SYS(fsmount),        SCMP_SYS(fspick),
                                 SCMP_SYS(mount_setattr)};

constexpr std::array<scmp_datum_t, 7> kNamespaces = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
                                                     CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
                                                     CLONE_NEWCGROUP};

/// Requests that put input into a terminal as if its user had typed it.
constexpr std::array<scmp_datum_t, 2> kTyping = {TIOCSTI, TIOCLINUX};

/// Which argument holds the flags; clone(2), "C library/kernel differences".
#if defined(__s390__) || defined(__s390x__)
constexpr unsigned kCloneFlags = 1;
#else
constexpr unsigned kCloneFlags = 0;
#endif

/// The families of sockets that drivers open: to their own daemons (CUDA fails without), and to
/// udev. AF_NETLINK is the highest, so that one rule refuses all above it.
constexpr std::array<int, 4> kFamilies = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

constexpr std::uint32_t kDenied = SCMP_ACT_ERRNO(EPERM);
constexpr scmp_datum_t kLowHalf = 0xFFFFFFFF;

/// The first negative errno that one of the calls gave; 0 when none did.
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

void refuse_families(scmp_filter_ctx filter, Steps& step) {
    for (int family = 0; family <= AF_NETLINK; ++family)
        if (std::ranges::find(kFamilies, family) == kFamilies.end())
            step(seccomp_rule_add(
                filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                SCMP_A0(SCMP_CMP_MASKED_EQ, kLowHalf, static_cast<scmp_datum_t>(family))));
    step(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                          SCMP_A0(SCMP_CMP_GT, AF_NETLINK)));
}

/// The parent of another process; 0 where that can't be told. Source: proc(5), /proc/pid/status.
pid_t parent_of(pid_t process) {
    const auto status = RootedFiles{}.read("/proc/" + std::to_string(process) + "/status", kib(16));
    const auto parent = status ? value_of_line(*status, "PPid") : std::nullopt;
    return parent ? parse_number<pid_t>(*parent).value_or(0) : 0;
}

/// Refuses signals to everybody (in a user's session that is all of the session), to the keeper of
/// this process (probe/keeper.h), and to whoever started the keeper, alone or as groups. Signals
/// may not be sent by way of a descriptor either (F_SETSIG), nor by a limit that is set for another
/// process.
void refuse_signals(scmp_filter_ctx filter, Steps& step) {
    const auto keeper = ::getppid();
    const auto server = parent_of(keeper);
    for (const pid_t target : {-1, keeper, -keeper, server, -server}) {
        if (target == 0 || target == 1)
            continue;  // 0: a parent outside this namespace; 1: nobody can end it
        const auto low = static_cast<scmp_datum_t>(target) & kLowHalf;
        for (const int call : {SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill),
                               SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)})
            step(seccomp_rule_add(filter, kDenied, call, 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, kLowHalf, low)));
    }
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(fcntl), 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, kLowHalf, F_SETSIG)));
    step(seccomp_rule_add(filter, kDenied, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0)));
}

void add_rules(scmp_filter_ctx filter, Steps& step) {
    // Our rules do not fit a program of another architecture, so none of its calls are allowed.
    step(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    for (const int call : kRefused)
        step(seccomp_rule_add(filter, kDenied, call, 0));
    for (const int call : kUnknown)
        step(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0));
    for (const auto flag : kNamespaces)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(clone), 1,
                              SCMP_CMP(kCloneFlags, SCMP_CMP_MASKED_EQ, flag, flag)));
    for (const auto request : kTyping)
        step(seccomp_rule_add(filter, kDenied, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kLowHalf, request)));
    refuse_families(filter, step);
    refuse_signals(filter, step);
}

}  // namespace

Status confine_system_calls() {
    const Filter filter{seccomp_init(SCMP_ACT_ALLOW)};
    if (!filter)
        return Error{ErrorCode::Internal, "making a system-call filter"};
    Steps step;
    add_rules(filter.get(), step);
    step(step.problem() == 0 ? seccomp_load(filter.get()) : 0);
    if (step.problem() != 0)
        return Error{ErrorCode::Internal, "loading the system-call filter: " +
                                              std::generic_category().message(-step.problem())};
    return Done{};
}

}  // namespace gpuprobe::backends
