// SPDX-License-Identifier: Apache-2.0
#include "backends/confinement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "backends/filter_programs.h"
#include "backends/readable_places.h"
#include "base/clock.h"
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

/// How many processes and threads a driver may start; a program that computes needs a thread for
/// each processor, and compilers some processes. A driver that goes on for long gets more in time.
struct Starts {
    static constexpr unsigned kProcesses = 128;
    static constexpr unsigned kThreads = 1024;
    static constexpr unsigned kThreadsPerProcessor = 16;
    static constexpr unsigned kProcessesPerSecond = 1;
    static constexpr unsigned kThreadsPerSecond = 4;
    /// After one part in so many of them, new ones run only while the processor is otherwise idle.
    static constexpr unsigned kUsualShare = 8;

    unsigned most = 0;
    unsigned per_second = 0;
    unsigned count = 0;
    MonotonicTime since = SystemClock{}.monotonic();

    [[nodiscard]] bool takes_another() {
        const auto seconds =
            std::chrono::floor<std::chrono::seconds>(SystemClock{}.monotonic() - since).count();
        if (count >= most + static_cast<std::uint64_t>(seconds) * per_second)
            return false;
        ++count;
        return true;
    }
    [[nodiscard]] bool is_usual() const { return count <= most / kUsualShare; }
};

/// Writes a line to the worker's output, where the reasons of a driver that fails are looked for.
template <class... Values>
void print(const char* format, Values... values) {
    std::array<char, 96> line;
    const int length = std::snprintf(line.data(), line.size(), format, values...);
    (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length));
}

/// Prints the number of a call once.
void print_unknown(int call) {
    static std::bitset<1024> printed;
    const auto number = static_cast<std::size_t>(call);
    if (number >= printed.size() || printed[number])
        return;
    printed.set(number);
    print("system call %zu is not among those for drivers\n", number);
}

/// What two processes agree on before the driver is loaded; in memory that both share.
struct Agreement {
    enum State : std::uint32_t { kStarting, kAble, kLoaded, kListening, kFailed };
    std::atomic<std::uint32_t> state = kStarting;
    std::atomic<int> listener = -1;  ///< the descriptor that the kernel asks through

    void set(State next) {
        state = next;
        (void)::syscall(SYS_futex, &state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    /// The state that follows `known`, or kFailed if `other` has ended or takes 20 seconds, which
    /// is more than any probe has.
    [[nodiscard]] std::uint32_t after(State known, pid_t other) {
        constexpr int kTries = 2000;
        const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
        const auto has_ended = [other] {
            return other > 0 && ::waitpid(other, nullptr, WNOHANG | __WCLONE) != 0;
        };
        for (int i = 0; i < kTries && state == known && !has_ended(); ++i)
            (void)::syscall(SYS_futex, &state, FUTEX_WAIT, known, &pause, nullptr, 0);
        return state == known ? static_cast<std::uint32_t>(kFailed) : state.load();
    }
};
using SharedAgreement = std::unique_ptr<Agreement, void (*)(Agreement*)>;

SharedAgreement new_agreement() {
    void* const memory = ::mmap(nullptr, sizeof(Agreement), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return {memory == MAP_FAILED ? nullptr : new (memory) Agreement,
            [](Agreement* made) { (void)::munmap(made, sizeof *made); }};
}

/// Answers for a driver's calls of which the kernel asks.
class CallSupervisor {
public:
    explicit CallSupervisor(bool may_schedule) : may_schedule_{may_schedule} {}

    [[nodiscard]] seccomp_notif_resp answer(const seccomp_notif& asked) {
        seccomp_notif_resp answer = {.id = asked.id, .val = 0, .error = -ENOSYS, .flags = 0};
        if (!starts_something(asked.data.nr)) {
            print_unknown(asked.data.nr);
            return answer;
        }
        const bool is_thread =
            asked.data.nr == __NR_clone && (asked.data.args[kCloneFlags] & CLONE_THREAD) != 0;
        auto& starts = is_thread ? threads_ : processes_;
        const bool is_taken = starts.takes_another();
        answer.error = is_taken ? 0 : -EAGAIN;
        answer.flags = is_taken ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        if (!is_taken && !std::exchange(has_refused_, true))
            print("the driver started more than %u %s\n", starts.count,
                  is_thread ? "threads" : "processes");
        if (may_schedule_ && !starts.is_usual()) {
            constexpr sched_param kNone = {};
            (void)::sched_setscheduler(static_cast<pid_t>(asked.pid), SCHED_IDLE, &kNone);
        }
        return answer;
    }

private:
    static bool starts_something(int call) {
#ifdef __NR_fork
        if (call == __NR_fork || call == __NR_vfork)
            return true;
#endif
        return call == __NR_clone;
    }

    bool may_schedule_;
    bool has_refused_ = false;
    Starts processes_{.most = Starts::kProcesses, .per_second = Starts::kProcessesPerSecond};
    Starts threads_{.most = Starts::kThreads +
                            Starts::kThreadsPerProcessor * std::thread::hardware_concurrency(),
                    .per_second = Starts::kThreadsPerSecond};
};

/// A newer kernel writes more than its headers here know.
union Question {
    std::array<std::byte, 1024> all;
    seccomp_notif known;
};

struct Supervision {
    Agreement& agreement;
    pid_t worker = -1;
    bool may_schedule = false;
};

/// The table of descriptors is the worker's until this process has the listener. Then it keeps that
/// and the output, and nothing else.
bool take_listener(Agreement& agreement) {
    // A kernel that lacks this call (before Linux 5.9) may not be able to let calls through (5.5).
    if (::syscall(__NR_close_range, ~0U, ~0U, 0U) != 0)
        return false;
    agreement.set(Agreement::kAble);
    constexpr pid_t kNobody = 0;  // the worker: its end is this process's, too
    if (agreement.after(Agreement::kAble, kNobody) != Agreement::kLoaded || agreement.listener < 0)
        return false;
    constexpr auto kRest = static_cast<unsigned>(STDERR_FILENO) + 1;
    if (::syscall(__NR_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) != 0 ||
        ::dup2(agreement.listener, STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        ::syscall(__NR_close_range, kRest, ~0U, 0U) != 0)
        return false;
    agreement.set(Agreement::kListening);
    return true;
}

/// The main function of the process that answers for a driver's calls. It ends with the worker's
/// first thread.
int supervise_calls(void* passed) {
    const auto* supervision = static_cast<const Supervision*>(passed);
    (void)::prctl(PR_SET_NAME, "gpuprobe-calls", 0, 0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != supervision->worker || !take_listener(supervision->agreement)) {
        supervision->agreement.set(Agreement::kFailed);
        ::_exit(EXIT_FAILURE);
    }
    CallSupervisor supervisor{supervision->may_schedule};
    bool is_gone = false;
    for (;;) {
        Question asked = {.all = {}};
        if (::ioctl(STDIN_FILENO, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
            // ENOENT: who asked has ended, or everybody has, and then again at once.
            const bool has_gone = errno == ENOENT && std::exchange(is_gone, true);
            if (!has_gone && (errno == EINTR || errno == ENOENT))
                continue;
            ::_exit(EXIT_FAILURE);
        }
        is_gone = false;
        auto answer = supervisor.answer(asked.known);
        (void)::ioctl(STDIN_FILENO, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

/// Starts a process that the driver cannot reach: it can let calls through. No signal reports its
/// end, so that a driver that waits for its children does not wait for this one (clone(2),
/// "__WCLONE"). It starts before the filter is loaded: later, its own clone() would wait for it.
/// -1 where none starts.
pid_t start_supervisor(const Supervision& supervision) {
    alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10U> stack;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    auto passed = supervision;
    const auto pid = ::clone(supervise_calls, stack.data() + stack.size(), CLONE_FILES, &passed);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    const bool is_able =
        pid > 0 && supervision.agreement.after(Agreement::kStarting, pid) == Agreement::kAble;
    return is_able ? pid : -1;
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

/// Loads the list of known calls and has a process of our own asked about all others. False where
/// that can't be; then nothing is loaded.
bool allow_supervised_calls() {
    const auto agreement = new_agreement();
    const auto supervisor =
        agreement ? start_supervisor(
                        {.agreement = *agreement, .worker = ::getpid(), .may_schedule = is_alone()})
                  : -1;
    if (supervisor < 0)
        return false;
    const int listener = load(known_calls(true), SECCOMP_FILTER_FLAG_NEW_LISTENER);
    agreement->listener = listener;
    agreement->set(Agreement::kLoaded);
    if (listener < 0)
        return false;
    if (agreement->after(Agreement::kLoaded, supervisor) != Agreement::kListening) {
        // A driver that could start no thread would give a wrong answer.
        print("%s\n", "the process that answers for system calls has ended");
        ::_exit(EX_TEMPFAIL);
    }
    ::close(listener);
    return true;
}

/// Leaves this process, and whatever it starts, only the system calls of a list; any other fails
/// with ENOSYS, as on an older kernel. Where the kernel can ask (Linux 5.9), the number of such a
/// call is written to stderr once, so that a driver that fails without it says what it needs, and
/// processes and threads are counted: Starts has the limits.
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
    if (allow_supervised_calls())
        return Done{};
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
/// Of files that are not folders: running them, reading them.
constexpr auto kReadFile = bit(0) | bit(2);
constexpr auto kRead = kReadFile | bit(3);
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
    Version{.since = 1, .files = kRead | kWrite | kMakeNode | (kChange & ~bit(13))},
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

/// The rights that a rule may give to such a file; none for kinds that no driver opens.
std::uint64_t rights_of(const UniqueFd& file) {
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0)
        return 0;
    if (S_ISDIR(info.st_mode))
        return ~std::uint64_t{0};
    if (S_ISREG(info.st_mode) || S_ISCHR(info.st_mode))
        return kReadFile | kWrite | kTruncate | kDeviceIoctl;
    return 0;
}

/// Returns the place that the rule is about; empty where it is none of this machine's.
UniqueFd allow(const UniqueFd& rules, const std::string& path, std::uint64_t access) {
    UniqueFd file{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    const PathRule rule{.allowed = file ? access & rights_of(file) : 0, .folder = file.get()};
    if (rule.allowed == 0)
        return {};
    (void)::syscall(__NR_landlock_add_rule, rules.get(), kPathRule, &rule, 0);
    return file;
}

/// A file in a folder or below it; "" where it has none. The path of a file is its own.
std::string file_below(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored))
        return path;
    for (auto entry = std::filesystem::recursive_directory_iterator{path, ignored};
         entry != std::filesystem::recursive_directory_iterator{}; entry.increment(ignored))
        if (entry->is_regular_file(ignored))
            return entry->path().string();
    return {};
}

/// Keeps the rule of a place below /proc: procfs makes another one, without the rule, once it has
/// forgotten the first. An open file keeps the folders above it, and gives a driver no folder.
void remember(const std::string& place) {
    const auto file = file_below(place);
    UniqueFd kept{file.empty() ? -1 : ::open(file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    (void)kept.release();
}

/// The folder of this process is kept by that of its threads.
void allow_reading(const UniqueFd& rules, const ProbeTarget& job) {
    for (const auto& place : readable_places(job, is_alone()))
        if (allow(rules, place, kRead) && place.starts_with("/proc/") && place != "/proc/self")
            remember(place);
}

/// CUDA names its threads there, and its cuInit is 304 where it may not (580.159 on an H200). The
/// place stays open for remember()'s reason.
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

/// Leaves to this process, and to everything it starts, of all files only its current folder, the
/// device nodes of GPUs' drivers, and readable_places() to read; forbids TCP; and keeps signals,
/// tracing and abstract Unix sockets among its own. Of that, what this kernel's Landlock can do:
/// files since Linux 5.13, truncation since 6.2, TCP since 6.7, other nodes' ioctls since 6.10,
/// signals and sockets since 6.12. Needs no_new_privs.
///
/// Returns the version of Landlock's interface. Errors: Unavailable, where there is none; Internal,
/// where it refuses.
///
/// Source: Linux, Documentation/userspace-api/landlock.rst.
Result<int> confine_files(const ProbeTarget& job) {
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
    allow_nodes(rules, handled.files & (kRead | kWrite | kTruncate | kDeviceIoctl));
    allow_reading(rules, job);
    if (::syscall(__NR_landlock_restrict_self, rules.get(),
                  version >= kLogVersion ? kLogNothing : 0U) != 0)
        return Error{ErrorCode::Internal, errno_error("Landlock", errno).text};
    return version;
}

}  // namespace

Confinement confine(const ProbeTarget& job) {
    Confinement holds;
    if (is_alone())
        holds.by.emplace_back(confinement::kNamespaces);
    if (const auto version = confine_files(job))
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
