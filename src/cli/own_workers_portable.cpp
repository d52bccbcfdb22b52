// SPDX-License-Identifier: Apache-2.0

// The portable program contains the worker's executable. The worker is a separate program that this
// machine's dynamic linker starts, because a static program must not load a driver.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/paths.h"
#include "explain/phrase.h"

extern "C" {
extern const char gpuprobe_worker_start[];
extern const char gpuprobe_worker_end[];
}
// GPUPROBE_WORKER_FILE is the path of the built target gpuprobe-worker, or of that file compressed
// with Zstandard.
__asm__(
    ".pushsection .rodata\n"
    ".globl gpuprobe_worker_start, gpuprobe_worker_end\n"
    "gpuprobe_worker_start: .incbin \"" GPUPROBE_WORKER_FILE
    "\"\n"
    "gpuprobe_worker_end:\n"
    ".popsection\n");

namespace gpuprobe::inline cli {
namespace {

/// Limits for the output of `gpuprobe-worker --version`. The time limit is in milliseconds.
constexpr Bytes kMaxOutput = kib(4);
constexpr Bytes kMaxWorker = mib(16);
/// The first bytes of a Zstandard frame. Source: RFC 8878, section 3.1.1.
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr int kFolderPatience = 5000;
/// The dynamic linker that the worker needs. Source: the psABI of each architecture.
#if defined(__aarch64__)
constexpr const char* kDynamicLinker = "/lib/ld-linux-aarch64.so.1";
#else
constexpr const char* kDynamicLinker = "/lib64/ld-linux-x86-64.so.2";
#endif

/// The worker's executable, kept for as long as workers may be started.
struct WorkerPlace {
    std::string path = {};
    UniqueFd memory = {};
    std::optional<RunFolder> folder = {};
};

/// The reason why the worker can't run from one place. `is_final` means that this machine can't run
/// the worker from any other place either.
struct Refusal {
    std::string text = {};
    bool is_final = false;
};

/// The embedded executable. The embedded data may be compressed with Zstandard; its first bytes
/// then differ from an executable's. Errors: Io if the data can't be decompressed, which means that
/// this program's file is damaged.
Result<std::string> worker_inside() {
    const std::string_view embedded{gpuprobe_worker_start, gpuprobe_worker_end};
    if (!embedded.starts_with(kZstdMagic))
        return std::string{embedded};
    // ZSTD_CONTENTSIZE_ERROR and ZSTD_CONTENTSIZE_UNKNOWN are above every limit.
    const Error damaged{ErrorCode::Io, "the worker that is embedded in this program is damaged"};
    const auto size = ZSTD_getFrameContentSize(embedded.data(), embedded.size());
    if (size > kMaxWorker.count)
        return damaged;
    std::string worker(size, '\0');
    if (ZSTD_decompress(worker.data(), size, embedded.data(), embedded.size()) != size)
        return damaged;
    return worker;
}

/// Writes the worker to a file in memory. No file is left on the disk, and the method works even if
/// the file systems are full or mounted with noexec.
Result<WorkerPlace> in_memory() {
    // MFD_EXEC. Kernels before 6.3 don't support MFD_EXEC and make all memory files executable.
    // Source: memfd_create(2).
    constexpr unsigned kMayRun = 0x10;
    UniqueFd low{::memfd_create("gpuprobe-worker", MFD_CLOEXEC | kMayRun)};
    if (!low && errno == EINVAL)
        low = UniqueFd{::memfd_create("gpuprobe-worker", MFD_CLOEXEC)};
    if (!low)
        return errno_error("a file in memory", errno);
    // Use a number above the standard descriptors, because the child replaces descriptors 0 to 2.
    auto memory = TRY(raised(std::move(low)));
    const auto worker = TRY(worker_inside());
    for (std::string_view left = worker; !left.empty();) {
        const auto written = ::write(memory.get(), left.data(), left.size());
        if (written < 0 && errno != EINTR)
            return errno_error("a file in memory", errno);
        left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    const auto number = std::to_string(memory.get());
    return WorkerPlace{.path = "/proc/self/fd/" + number, .memory = std::move(memory)};
}

/// Writes the worker to a temporary folder, which is removed when the returned object is destroyed.
Result<WorkerPlace> in_folder(const std::string& parent) {
    auto folder = TRY(RunFolder::make(parent, "gpuprobe-worker"));
    const auto path = folder.path() + "/gpuprobe-worker";
    TRY(write_atomically(path, TRY(worker_inside()), 0700));
    return WorkerPlace{.path = path, .folder = std::move(folder)};
}

/// Reads a process's output until its end. If the process prints nothing for kFolderPatience or
/// prints too much, it is killed.
std::string output_of(int output, pid_t pid) {
    std::string text;
    char piece[256];
    pollfd more = {.fd = output, .events = POLLIN, .revents = 0};
    while (text.size() < kMaxOutput.count) {
        const int ready = ::poll(&more, 1, kFolderPatience);
        const auto count = ready > 0 ? ::read(output, piece, sizeof piece) : -1;
        if (count == 0)
            return text;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;
        text.append(piece, static_cast<std::size_t>(count));
    }
    ::kill(pid, SIGKILL);
    return text;
}

/// The exit status of a child.
int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/// Starts `PATH --version` with an empty environment. Errors: from errno.
Result<pid_t> start_version(const std::string& path, int output) {
    std::string words[] = {path, "--version"};
    char* const arguments[] = {words[0].data(), words[1].data(), nullptr};
    char* const environment[] = {nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    pid_t pid = -1;
    const int problem =
        ::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environment);
    ::posix_spawn_file_actions_destroy(&actions);
    if (problem != 0)
        return errno_error(path, problem);
    return pid;
}

/// Tries to run the worker at `path`. Returns nullopt if the worker runs.
std::optional<Refusal> refusal_of(const std::string& path) {
    if (::access(path.c_str(), F_OK) != 0)
        return Refusal{.text = errno_error(path, errno).text};
    auto output = Pipe::create();
    if (!output)
        return Refusal{.text = output.error().text};
    const auto pid = start_version(path, output->write.get());
    output->write.reset();
    // The file exists, so ENOENT from execve() means that the dynamic linker is missing. Source:
    // execve(2).
    if (!pid && pid.error().code == ErrorCode::NotFound)
        return Refusal{
            .text = phrase("this machine lacks {linker}, the dynamic linker that loads drivers",
                           {{"linker", kDynamicLinker}}),
            .is_final = true};
    if (!pid)
        return Refusal{.text = pid.error().text};
    const auto text = output_of(output->read.get(), *pid);
    const int status = wait_for(*pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return std::nullopt;
    // The worker was started and failed, for instance because the C library is too old.
    const auto why =
        trimmed(text).empty() ? "the worker printed nothing" : std::string{trimmed(text)};
    return Refusal{.text = phrase("this machine cannot run the worker: {why}", {{"why", why}}),
                   .is_final = true};
}

/// The first place from which the worker runs: memory, the user's cache folder, the temporary
/// folder. Errors: ProbeFailed, with the reason for each place.
Result<WorkerPlace> place_found() {
    std::string refusals;
    const auto fits = [&refusals](Result<WorkerPlace>& place, bool& is_final) {
        auto refusal = place ? refusal_of(place->path) : Refusal{.text = place.error().text};
        if (!refusal)
            return true;
        refusals += (refusals.empty() ? "" : "; ") + refusal->text;
        is_final = refusal->is_final;
        return false;
    };
    bool is_final = false;
    auto place = in_memory();
    if (fits(place, is_final))
        return place;
    std::error_code ignored;
    for (const auto& parent : {user_cache_folder().value_or(""),
                               std::filesystem::temp_directory_path(ignored).string()}) {
        if (is_final)
            break;
        if (parent.empty())
            continue;
        place = in_folder(parent);
        if (fits(place, is_final))
            return place;
    }
    return Error{ErrorCode::ProbeFailed, "drivers are not probed: " + refusals};
}

/// A launcher that searches for a place for the worker when the first target is started, so that
/// commands without a probe don't wait for the search.
class InsideLauncher final : public Launcher {
public:
    Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override {
        if (!place_) {
            place_ = place_found();
            if (*place_)
                workers_.emplace((*place_)->path, "");
        }
        if (!*place_)
            return place_->error();
        return workers_->launch(target);
    }

private:
    std::optional<Result<WorkerPlace>> place_ = {};
    std::optional<SpawnLauncher> workers_ = {};
};

}  // namespace

Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given) {
    if (given)
        return std::unique_ptr<Launcher>{std::make_unique<SpawnLauncher>(*given, "")};
    return std::unique_ptr<Launcher>{std::make_unique<InsideLauncher>()};
}

}  // namespace gpuprobe::inline cli
