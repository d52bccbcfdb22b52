// SPDX-License-Identifier: Apache-2.0
#include "backends/confinement.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/filter_programs.h"
#include "base/files.h"
#include "base/handle.h"
#include "base/result.h"
#include "report/confinement.h"

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

/// Whether this process is in a namespace of processes that its parent is not in.
bool is_alone() {
    return ::getppid() == 0;
}

/// Refuses what reaches beyond this process, with the errors that confine() tells; anything
/// else is allowed. Errors: Internal, where the kernel or its container allows no filter.
Status refuse_reaching_out() {
    const auto program =
        refusals({.is_alone = is_alone(), .is_tegra = ::access(kTegra, F_OK) == 0});
    if (load(addressed(program, ::getpid()), 0) < 0)
        return Error{ErrorCode::Internal,
                     errno_error("loading the system-call filter", errno).text};
    return Done{};
}

/// Leaves this process, and whatever it starts, only the system calls of a list; any other fails
/// with ENOSYS, as on an older kernel, and where the kernel can tell us (Linux 5.0) its number is
/// written to stderr once, so that a driver that fails without it says what it needs.
///
/// Starts a process for that. Needs no_new_privs. Errors: Internal, where the kernel or its
/// container allows no filter; nothing has changed then.
///
/// What confine() refuses is not on the list; where both filters say no, it is refused.
///
/// Sources of the list: systemd.exec(5), the groups of `@system-service` without those of its
/// members that change owners, users, keys, personality or the machine; and what lavapipe (Mesa
/// 22.3), pocl 3.1 and NVIDIA's CUDA, NVML, Vulkan and OpenCL (580.159) were seen to call.
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

// Headers of older systems lack the newer half: include/uapi/linux/landlock.h of Linux 6.15.
struct Ruleset {
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scopes = 0;
};
struct [[gnu::packed]] PathRule {
    std::uint64_t allowed = 0;
    std::int32_t folder = -1;
};
constexpr unsigned kAskVersion = 1;
constexpr int kPathRule = 1;
constexpr unsigned kLogNothing = 1;  ///< LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
constexpr int kLogVersion = 7;

constexpr std::uint64_t bit(int number) {
    return std::uint64_t{1} << static_cast<unsigned>(number);
}
constexpr auto kWrite = bit(1);
constexpr auto kTruncate = bit(14);
constexpr auto kDeviceIoctl = bit(15);
/// Removing and making of all kinds, renaming between folders.
constexpr auto kChange = bit(4) | bit(5) | bit(7) | bit(8) | bit(9) | bit(10) | bit(12) | bit(13);
/// Making device nodes, which nobody may.
constexpr auto kMakeNode = bit(6) | bit(11);

struct Version {
    int since = 1;
    std::uint64_t files = 0;
    std::uint64_t network = 0;
    std::uint64_t scopes = 0;
};
constexpr std::array kVersions = {
    Version{.since = 1, .files = kWrite | kMakeNode | (kChange & ~bit(13))},
    Version{.since = 2, .files = bit(13)},
    Version{.since = 3, .files = kTruncate},
    Version{.since = 4, .network = bit(0) | bit(1)},  // to bind and to connect TCP sockets
    Version{.since = 5, .files = kDeviceIoctl},
    Version{.since = 6, .scopes = bit(0) | bit(1)},  // abstract Unix sockets, signals
};

/// What drivers open in /dev; "*" stands for any end. Sources: the nodes that the kernel's DRM,
/// accel, KFD and DMA-BUF heaps make; NVIDIA's README, "NVIDIA device nodes", with Tegra's; WSL's
/// dxgkrnl; Arm's kbase, Qualcomm's kgsl, Imagination's pvrsrvkm.
constexpr std::array<std::string_view, 20> kNodes = {
    "null",    "zero",      "full",    "random",  "urandom", "dri",    "accel",
    "kfd",     "dxg",       "nvidia*", "nvhost*", "nvmap",   "nvgpu",  "dma_heap",
    "udmabuf", "tegra_dc*", "mali*",   "kgsl*",   "pvr*",    "galcore"};

bool is_driver_node(std::string_view name) {
    return std::ranges::any_of(kNodes, [name](std::string_view pattern) {
        return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : name == pattern;
    });
}

bool is_folder_or_device(const UniqueFd& file) {
    struct stat info = {};
    return ::fstat(file.get(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISCHR(info.st_mode));
}

/// Returns the place that the rule is about; empty where it is none of this machine's.
UniqueFd allow(const UniqueFd& rules, const std::string& path, std::uint64_t access) {
    UniqueFd file{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!file || !is_folder_or_device(file))
        return {};
    const PathRule rule{.allowed = access, .folder = file.get()};
    (void)::syscall(__NR_landlock_add_rule, rules.get(), kPathRule, &rule, 0);
    return file;
}

/// CUDA names its threads there, and its cuInit is 304 where it may not (580.159 on an H200). The
/// place stays open: procfs makes another one, without the rule, once it has forgotten this.
void allow_own_threads(const UniqueFd& rules, std::uint64_t access) {
    (void)allow(rules, "/proc/self/task", access).release();
}

void allow_nodes(const UniqueFd& rules, std::uint64_t access) {
    std::error_code ignored;
    for (auto node = std::filesystem::directory_iterator{"/dev", ignored};
         node != std::filesystem::directory_iterator{}; node.increment(ignored))
        if (is_driver_node(node->path().filename().string()))
            (void)allow(rules, node->path().string(), access);
}

Ruleset ruleset_of(int version) {
    Ruleset all;
    for (const auto& step : kVersions)
        if (version >= step.since) {
            all.files |= step.files;
            all.network |= step.network;
            all.scopes |= step.scopes;
        }
    return all;
}

/// Makes all files read-only for this process, and for everything it starts, but its current folder
/// and the device nodes of GPUs' drivers; forbids TCP; and keeps signals, tracing and abstract Unix
/// sockets among its own. Of that, what this kernel's Landlock can do: files since Linux 5.13,
/// truncation since 6.2, TCP since 6.7, other nodes' ioctls since 6.10, signals and sockets since
/// 6.12. Needs no_new_privs.
///
/// Returns the version of Landlock's interface. Errors: Unavailable, where there is none; Internal,
/// where it refuses.
///
/// Source: Linux, Documentation/userspace-api/landlock.rst.
Result<int> confine_files() {
    const auto version = static_cast<int>(
        ::syscall(__NR_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion));
    if (version < 1)
        return Error{ErrorCode::Unavailable, errno_error("Landlock", errno).text};
    const auto handled = ruleset_of(version);
    const UniqueFd rules{
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0U))};
    if (!rules)
        return Error{ErrorCode::Internal, errno_error("Landlock", errno).text};
    (void)allow(rules, ".", handled.files & ~kMakeNode);
    allow_own_threads(rules, handled.files & (kWrite | kTruncate));
    allow_nodes(rules, handled.files & (kWrite | kTruncate | kDeviceIoctl));
    if (::syscall(__NR_landlock_restrict_self, rules.get(),
                  version >= kLogVersion ? kLogNothing : 0U) != 0)
        return Error{ErrorCode::Internal, errno_error("Landlock", errno).text};
    return version;
}

}  // namespace

Confinement confine() {
    Confinement holds;
    if (is_alone())
        holds.by.emplace_back(confinement::kNamespaces);
    if (const auto version = confine_files())
        holds.by.push_back(std::string{confinement::kLandlock} + "-" + std::to_string(*version));
    else
        holds.problems.push_back(version.error().text);
    const auto take = [&holds](std::string_view word, const Status& done) {
        if (done)
            holds.by.emplace_back(word);
        else
            holds.problems.push_back(done.error().text);
    };
    take(confinement::kNoReachingOut, refuse_reaching_out());
    take(confinement::kKnownCalls, allow_known_calls());
    return holds;
}

}  // namespace gpuprobe::backends
