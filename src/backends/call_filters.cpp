// SPDX-License-Identifier: Apache-2.0
#include "backends/call_filters.h"

#include <array>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/filter_programs.h"
#include "base/files.h"

namespace gpuprobe::backends {
namespace {

constexpr const char* kTegra = "/dev/nvmap";
constexpr unsigned kCompares = BPF_JMP | BPF_JEQ | BPF_K;

/// What seccomp(2) returns; -1 with errno. systemd's `@system-service` of 252 has prctl(2) alone.
int load(std::span<const sock_filter> program, unsigned flags) {
    // Which it does not write to.
    const sock_fprog given{.len = static_cast<unsigned short>(program.size()),
                           .filter = const_cast<sock_filter*>(program.data())};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto loaded = ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given);
    if (loaded >= 0 || flags != 0)
        return static_cast<int>(loaded);
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &given, 0, 0);
}

/// The program, for the process of this number.
std::vector<sock_filter> addressed(std::span<const sock_filter> program, pid_t process) {
    std::vector<sock_filter> own{program.begin(), program.end()};
    for (auto& step : own)
        if (step.code == kCompares && step.k == kThisProcess)
            step.k = static_cast<std::uint32_t>(process);
    return own;
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

/// A newer kernel writes more than its headers here know.
union Question {
    std::array<std::byte, 1024> all;
    seccomp_notif known;
};

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
        Question asked = {.all = {}};
        if (::ioctl(STDIN_FILENO, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
            if (errno == EINTR || errno == ENOENT)
                continue;
            return EXIT_FAILURE;
        }
        tell(asked.known.data.nr);
        seccomp_notif_resp answer = {.id = asked.known.id, .val = 0, .error = -ENOSYS, .flags = 0};
        (void)::ioctl(STDIN_FILENO, SECCOMP_IOCTL_NOTIF_SEND, &answer);
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

bool is_alone() {
    return ::getppid() == 0;
}

Status refuse_reaching_out() {
    const auto program =
        refusals({.is_alone = is_alone(), .is_tegra = ::access(kTegra, F_OK) == 0});
    if (load(addressed(program, ::getpid()), 0) < 0)
        return Error{ErrorCode::Internal,
                     errno_error("loading the system-call filter", errno).text};
    return Done{};
}

Status allow_known_calls() {
    if (const int asked = load(known_calls(true), SECCOMP_FILTER_FLAG_NEW_LISTENER); asked >= 0) {
        start_teller(asked);
        return Done{};
    }
    if (load(known_calls(false), 0) < 0)
        return Error{ErrorCode::Internal,
                     errno_error("loading the list of system calls", errno).text};
    return Done{};
}

}  // namespace gpuprobe::backends
