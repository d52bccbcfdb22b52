// SPDX-License-Identifier: Apache-2.0
#include "backends/sandbox.h"

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

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "report/api_table.h"
#include "report/outcome.h"

namespace gpuprobe::backends {
namespace {

constexpr const char* kTegra = "/dev/nvmap";
constexpr unsigned kCompares = BPF_JMP | BPF_JEQ | BPF_K;

/// Loads a filter. Returns the result of seccomp(2): -1 with errno set on failure. Falls back to
/// prctl(2), because `@system-service` of systemd 252 allows only prctl(2).
int load(std::span<const sock_filter> program, unsigned flags) {
    // sock_fprog has no const pointer, but the kernel only reads the program.
    const sock_fprog given{.len = static_cast<unsigned short>(program.size()),
                           .filter = const_cast<sock_filter*>(program.data())};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto loaded = ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given);
    // prctl(2) takes no flags, so it cannot replace a call of seccomp(2) with flags.
    if (loaded >= 0 || flags != 0)
        return static_cast<int>(loaded);
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &given, 0, 0);
}

/// A copy of the program with kThisProcess replaced by the id of the given process.
std::vector<sock_filter> addressed(std::span<const sock_filter> program, pid_t process) {
    std::vector<sock_filter> own{program.begin(), program.end()};
    for (auto& step : own)
        if (step.code == kCompares && step.k == kThisProcess)
            step.k = static_cast<std::uint32_t>(process);
    return own;
}

/// Counts the processes or threads that a driver starts, against a limit. A program that computes
/// on the CPU needs a thread per processor, and compilers need a few processes. The limit grows
/// with time for drivers that run for a long time.
struct Starts {
    static constexpr unsigned kProcesses = 128;
    static constexpr unsigned kThreads = 1024;
    static constexpr unsigned kThreadsPerProcessor = 16;
    static constexpr unsigned kProcessesPerSecond = 1;
    static constexpr unsigned kThreadsPerSecond = 4;
    /// Beyond 1/kUsualShare of the limit, new processes and threads run only while the processor is
    /// otherwise idle.
    static constexpr unsigned kUsualShare = 8;

    unsigned most = 0;
    unsigned per_second = 0;
    unsigned count = 0;
    MonotonicTime since = SystemClock{}.monotonic();

    /// Counts one more process or thread. Returns false if another process or thread would exceed
    /// the limit.
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

/// Writes a line to stderr; the formatted line must fit into 95 characters. The parent searches the
/// worker's output for the reasons why a driver failed.
template <class... Values>
void print(const char* format, Values... values) {
    std::array<char, 96> line;
    const int length = std::snprintf(line.data(), line.size(), format, values...);
    (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length));
}

/// Reports an unlisted system call, once per number.
void print_unknown(int call) {
    static std::bitset<1024> printed;
    const auto number = static_cast<std::size_t>(call);
    if (number >= printed.size() || printed[number])
        return;
    printed.set(number);
    print("system call %zu is not allowed for drivers\n", number);
}

/// The handshake between the worker and its supervisor before the driver is loaded. The object is
/// in memory that both processes share.
struct Agreement {
    enum State : std::uint32_t { kStarting, kAble, kLoaded, kListening, kFailed };
    std::atomic<std::uint32_t> state = kStarting;
    std::atomic<int> listener = -1;  ///< the descriptor that delivers the kernel's notifications

    /// Moves to the next state and wakes the other process.
    void set(State next) {
        state = next;
        (void)::syscall(SYS_futex, &state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    /// Waits for the state to change from `known` and returns the new state. Returns kFailed if
    /// process `other` has ended, or after 20 seconds, which is longer than the time limit of any
    /// probe.
    [[nodiscard]] std::uint32_t after(State known, pid_t other) {
        constexpr int kTries = 2000;
        const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
        // __WCLONE: the supervisor sends no signal when it ends (see start_supervisor).
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
    // Shared, so that both processes see changes after the clone. Null if the mapping fails.
    void* const memory = ::mmap(nullptr, sizeof(Agreement), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return {memory == MAP_FAILED ? nullptr : new (memory) Agreement,
            [](Agreement* made) { (void)::munmap(made, sizeof *made); }};
}

/// Decides about the system calls for which the kernel sends a notification. If `may_schedule` is
/// true, the supervisor may change the scheduling of driver processes.
class CallSupervisor {
public:
    explicit CallSupervisor(bool may_schedule) : may_schedule_{may_schedule} {}

    [[nodiscard]] seccomp_notif_resp answer(const seccomp_notif& asked) {
        seccomp_notif_resp answer = {.id = asked.id, .val = 0, .error = -ENOSYS, .flags = 0};
        // Unlisted calls fail with ENOSYS, as on an older kernel.
        if (!starts_something(asked.data.nr)) {
            print_unknown(asked.data.nr);
            return answer;
        }
        // The remaining calls start a process or a thread: let the kernel continue such a call as
        // long as the limit allows.
        const bool is_thread =
            asked.data.nr == __NR_clone && (asked.data.args[kCloneFlags] & CLONE_THREAD) != 0;
        auto& starts = is_thread ? threads_ : processes_;
        const bool is_taken = starts.takes_another();
        answer.error = is_taken ? 0 : -EAGAIN;
        answer.flags = is_taken ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        if (!is_taken && !std::exchange(has_refused_, true))
            print("the driver started more than %u %s\n", starts.count,
                  is_thread ? "threads" : "processes");
        // The driver has started unusually many processes and threads: lower the priority of the
        // caller. Children of the caller inherit this priority.
        if (may_schedule_ && !starts.is_usual()) {
            constexpr sched_param kNone = {};
            (void)::sched_setscheduler(static_cast<pid_t>(asked.pid), SCHED_IDLE, &kNone);
        }
        return answer;
    }

private:
    /// Whether the call starts a process or a thread. Some architectures have only clone().
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

/// Buffer for a notification. A newer kernel may write more bytes than our headers declare.
union Question {
    std::array<std::byte, 1024> all;
    seccomp_notif known;
};

/// The arguments of the supervisor process.
struct Supervision {
    Agreement& agreement;
    pid_t worker = -1;
    bool may_schedule = false;
};

/// The supervisor's side of the handshake. The supervisor shares the worker's table of descriptors
/// until it has the listener. Then the supervisor gets its own table and keeps only the listener
/// and stderr.
bool take_listener(Agreement& agreement) {
    // Kernels without close_range(2) (before Linux 5.9) may also lack
    // SECCOMP_USER_NOTIF_FLAG_CONTINUE (5.5).
    if (::syscall(__NR_close_range, ~0U, ~0U, 0U) != 0)
        return false;
    agreement.set(Agreement::kAble);
    constexpr pid_t kNobody = 0;  // no need to watch the worker: this process dies with it
    if (agreement.after(Agreement::kAble, kNobody) != Agreement::kLoaded || agreement.listener < 0)
        return false;
    // Unshare the table, put the listener on stdin and stderr on stdout, and close all others.
    constexpr auto kRest = static_cast<unsigned>(STDERR_FILENO) + 1;
    if (::syscall(__NR_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) != 0 ||
        ::dup2(agreement.listener, STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        ::syscall(__NR_close_range, kRest, ~0U, 0U) != 0)
        return false;
    agreement.set(Agreement::kListening);
    return true;
}

/// The main function of the supervisor process. PR_SET_PDEATHSIG ends the supervisor together with
/// the worker's first thread.
int supervise_calls(void* passed) {
    const auto* supervision = static_cast<const Supervision*>(passed);
    (void)::prctl(PR_SET_NAME, "gpuprobe-calls", 0, 0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // If the worker died before the prctl() call, there is no signal; the changed parent process
    // shows that the worker has died.
    if (::getppid() != supervision->worker || !take_listener(supervision->agreement)) {
        supervision->agreement.set(Agreement::kFailed);
        ::_exit(EXIT_FAILURE);
    }
    CallSupervisor supervisor{supervision->may_schedule};
    bool is_gone = false;
    for (;;) {
        Question asked = {.all = {}};
        if (::ioctl(STDIN_FILENO, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
            // ENOENT means that the caller ended before its notification was read. ENOENT twice in
            // a row means that no process with the filter is left.
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

/// Starts the supervisor. The driver must not be able to access the supervisor, because the
/// supervisor can permit system calls. The supervisor sends no signal when it ends, so a driver
/// that waits for all its children does not wait for the supervisor (clone(2), "__WCLONE"). The
/// supervisor must be started before the filter is loaded, because after that, clone() would wait
/// for a supervisor that does not exist yet. Returns the process id of the supervisor; -1 on
/// failure.
pid_t start_supervisor(const Supervision& supervision) {
    alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10U> stack;
    // The supervisor inherits this mask: signals sent to the process group must not end the
    // supervisor.
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

/// Whether this process is in a different PID namespace from its parent.
bool is_alone() {
    return ::getppid() == 0;
}

/// Loads the filter that refuses calls that affect other processes or the machine, with the errors
/// listed at confine(). All other calls are allowed. Errors: Internal if the kernel or the
/// container does not permit a filter.
Status refuse_reaching_out() {
    const auto program =
        refusals({.is_alone = is_alone(), .is_tegra = ::access(kTegra, F_OK) == 0});
    if (load(addressed(program, ::getpid()), 0) < 0)
        return Error{ErrorCode::Internal,
                     errno_error("loading the system-call filter", errno).text};
    return Done{};
}

/// Loads the list of known calls, with a supervisor process that decides about all other calls. If
/// the system does not support such a supervisor, loads nothing and returns false.
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
        // The filter is already active. Without a supervisor the driver could not start a thread
        // and would give a wrong result, so end here.
        print("%s\n", "the process that decides about system calls has ended");
        ::_exit(EX_TEMPFAIL);
    }
    ::close(listener);
    return true;
}

/// Restricts this process and all processes that it starts to a list of known system calls; all
/// other calls fail with ENOSYS, as on an older kernel. If the kernel supports notifications (Linux
/// 5.9), a supervisor process writes the number of each other call to stderr once, so that the
/// output of a driver that fails without the call shows the cause. The supervisor also limits the
/// number of processes and threads; see Starts.
///
/// Needs no_new_privs. Errors: Internal if the kernel or the container does not permit a filter;
/// nothing has changed in that case.
///
/// Calls that refuse_reaching_out() refuses for all arguments are left off the list. The refusals
/// of that filter take precedence over a notification.
///
/// Sources of the list: systemd.exec(5), the groups of `@system-service` without the members that
/// change owners, users, keys, personality or the machine; and the calls made by lavapipe (Mesa
/// 22.3), pocl 3.1 and NVIDIA's CUDA, NVML, Vulkan and OpenCL (580.159).
Status allow_known_calls() {
    if (allow_supervised_calls())
        return Done{};
    if (load(known_calls(false), 0) < 0)
        return Error{ErrorCode::Internal,
                     errno_error("loading the list of system calls", errno).text};
    return Done{};
}

// Landlock's interface. The interface is declared here because the headers of older systems lack
// its newer parts. Source: Linux 6.15, include/uapi/linux/landlock.h.
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
/// The rights to execute and to read a file that isn't a folder.
constexpr auto kReadFile = bit(0) | bit(2);
/// The rights to execute, to read a file, and to list a folder.
constexpr auto kRead = kReadFile | bit(3);
constexpr auto kWrite = bit(1);
constexpr auto kTruncate = bit(14);
constexpr auto kDeviceIoctl = bit(15);
/// Rights to remove and to create files of all kinds except device nodes, and to rename between
/// folders.
constexpr auto kChange = bit(4) | bit(5) | bit(7) | bit(8) | bit(9) | bit(10) | bit(12) | bit(13);
/// The right to create device nodes, which is never granted.
constexpr auto kMakeNode = bit(6) | bit(11);

/// The rights that a version of Landlock added.
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
    Version{.since = 4, .network = bit(0) | bit(1)},  // binding and connecting TCP sockets
    Version{.since = 5, .files = kDeviceIoctl},
    Version{.since = 6, .scopes = bit(0) | bit(1)},  // abstract Unix sockets and signals
};

/// Entries of /dev that drivers open; a final "*" matches anything. Sources: the nodes of the
/// kernel's DRM, accel, KFD and DMA-BUF heaps; NVIDIA's README, "NVIDIA device nodes", and the
/// nodes on Tegra; WSL's dxgkrnl; Arm's kbase, Qualcomm's kgsl, Imagination's pvrsrvkm.
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

/// The type of an opened file, as in stat::st_mode; 0 if it is unknown.
mode_t type_of(const UniqueFd& file) {
    struct stat info = {};
    return ::fstat(file.get(), &info) == 0 ? info.st_mode & S_IFMT : 0;
}

bool add_rule(const UniqueFd& rules, const UniqueFd& file, std::uint64_t access) {
    const PathRule rule{.allowed = access, .folder = file.get()};
    return ::syscall(__NR_landlock_add_rule, rules.get(), kPathRule, &rule, 0) == 0;
}

/// Adds a rule that grants `access` to a path. Returns the opened path; empty if the path does not
/// exist or cannot have these rights.
UniqueFd allow(const UniqueFd& rules, const std::string& path, std::uint64_t access) {
    UniqueFd file{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!file)
        return {};
    // Most paths are folders. For other kinds of files, the kernel rejects the rights that only
    // folders have. Files that drivers don't open get no rule.
    constexpr std::uint64_t kForFiles = kReadFile | kWrite | kTruncate | kDeviceIoctl;
    if ((access & ~kForFiles) != 0 && add_rule(rules, file, access))
        return file;
    const auto type = type_of(file);
    const bool is_folder = type == S_IFDIR;
    const auto rights = is_folder ? access : access & kForFiles;
    if (rights == 0 || !(is_folder || type == S_IFREG || type == S_IFCHR))
        return {};
    (void)add_rule(rules, file, rights);
    return file;
}

/// The path of any file in a folder or below it; "" for a folder without files. If `path` is the
/// path of a file, returns `path` itself.
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

/// Keeps the rule for a path below /proc alive. Landlock attaches a rule to an inode, and procfs
/// drops unused inodes and later creates new ones without the rule. An open file also keeps the
/// inodes of the folders above it, and does not give the driver a descriptor of a folder.
void remember(const std::string& place) {
    const auto file = file_below(place);
    UniqueFd kept{file.empty() ? -1 : ::open(file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    (void)kept.release();
}

/// Grants read access to readable_places(). /proc/self needs no remember(): allow_own_threads()
/// keeps a folder below it open.
void allow_reading(const UniqueFd& rules, const ProbeTarget& job) {
    for (const auto& place : readable_places(job, is_alone()))
        if (allow(rules, place, kRead) && place.starts_with("/proc/") && place != "/proc/self")
            remember(place);
}

/// Grants write access below /proc/self/task, where CUDA names its threads; otherwise, cuInit fails
/// with 304 (580.159 on an H200). The descriptor stays open for the reason given at remember().
void allow_own_threads(const UniqueFd& rules, std::uint64_t access) {
    (void)allow(rules, "/proc/self/task", access).release();
}

/// Grants `access` to the device nodes that drivers open.
void allow_nodes(const UniqueFd& rules, std::uint64_t access) {
    std::error_code ignored;
    for (auto node = std::filesystem::directory_iterator{"/dev", ignored};
         node != std::filesystem::directory_iterator{}; node.increment(ignored))
        if (is_driver_node(node->path().filename().string()))
            (void)allow(rules, node->path().string(), access);
}

/// All rights that this version of Landlock can restrict.
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

/// Restricts this process, and all processes that it starts, to these files: its current folder,
/// the device nodes of GPU drivers, and, for reading, readable_places(). Also forbids TCP, and
/// limits signals, tracing and abstract Unix sockets to the sandbox. Applies only the restrictions
/// that the kernel's Landlock supports: files since Linux 5.13, truncation since 6.2, TCP since
/// 6.7, ioctls of other nodes since 6.10, signals and sockets since 6.12. Needs no_new_privs.
///
/// Returns the version of Landlock's interface. Errors: Unavailable if the kernel has no Landlock;
/// Internal if a call fails.
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
    // A rule that cannot be added only reduces access, so failures of single rules are ignored.
    (void)allow(rules, ".", handled.files & ~kMakeNode);
    allow_own_threads(rules, handled.files & (kWrite | kTruncate));
    const auto for_nodes = handled.files & (kRead | kWrite | kTruncate | kDeviceIoctl);
    allow_nodes(rules, for_nodes);
    // GPU drivers have no access to V4L2 nodes, because most V4L2 nodes are cameras.
    if (job.api == info_of(Api::V4l2).word)
        (void)allow(rules, job.driver, for_nodes);
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
    // Restrict files first, because the filters below do not allow the calls that set up Landlock.
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
