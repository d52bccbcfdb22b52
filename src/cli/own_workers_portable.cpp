// SPDX-License-Identifier: Apache-2.0

// The portable program has the worker inside. The worker is a program of its own, which this
// machine's dynamic linker starts: a static program must not load a driver.

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

#include "base/files.h"
#include "base/parse.h"
#include "cli/own_workers.h"
#include "cli/places.h"
#include "explain/phrase.h"

extern "C" {
extern const char gpuprobe_worker_start[];
extern const char gpuprobe_worker_end[];
}
// GPUPROBE_WORKER_FILE is what the build made of the target gpuprobe-worker.
__asm__(
    ".pushsection .rodata\n"
    ".globl gpuprobe_worker_start, gpuprobe_worker_end\n"
    "gpuprobe_worker_start: .incbin \"" GPUPROBE_WORKER_FILE
    "\"\n"
    "gpuprobe_worker_end:\n"
    ".popsection\n");

namespace gpuprobe::inline cli {
namespace {

constexpr Bytes kMaxOutput = kib(4);
constexpr int kFolderPatience = 5000;
/// Where the worker's C library has its dynamic linker. Source: the psABI of each architecture.
#if defined(__aarch64__)
constexpr const char* kDynamicLinker = "/lib/ld-linux-aarch64.so.1";
#else
constexpr const char* kDynamicLinker = "/lib64/ld-linux-x86-64.so.2";
#endif

/// Where the worker is, for as long as it may be started.
struct WorkerPlace {
    std::string path = {};
    UniqueFd memory = {};
    std::optional<RunFolder> folder = {};
};

/// Why a place does not do. Another may, unless it is the machine that can't run the worker.
struct Refusal {
    std::string text = {};
    bool is_final = false;
};

std::string_view worker_inside() {
    return {gpuprobe_worker_start, gpuprobe_worker_end};
}

Result<WorkerPlace> in_memory() {
    // Kernels before 6.3 don't know the flag, and run such files without it: memfd_create(2).
    constexpr unsigned kMayRun = 0x10;
    UniqueFd low{::memfd_create("gpuprobe-worker", MFD_CLOEXEC | kMayRun)};
    if (!low && errno == EINVAL)
        low = UniqueFd{::memfd_create("gpuprobe-worker", MFD_CLOEXEC)};
    if (!low)
        return errno_error("a file in memory", errno);
    auto memory = TRY(raised(std::move(low)));
    for (auto left = worker_inside(); !left.empty();) {
        const auto written = ::write(memory.get(), left.data(), left.size());
        if (written < 0 && errno != EINTR)
            return errno_error("a file in memory", errno);
        left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    const auto number = std::to_string(memory.get());
    return WorkerPlace{.path = "/proc/self/fd/" + number, .memory = std::move(memory)};
}

Result<WorkerPlace> in_folder(const std::string& parent) {
    auto folder = TRY(RunFolder::make(parent, "gpuprobe-worker"));
    const auto path = folder.path() + "/gpuprobe-worker";
    TRY(write_atomically(path, worker_inside(), 0700));
    return WorkerPlace{.path = path, .folder = std::move(folder)};
}

/// What a process says until it is silent for good or the time is over; then it is killed.
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

int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/// Starts `PATH --version`. The error is errno's.
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

/// nullopt where the worker runs.
std::optional<Refusal> refusal_of(const std::string& path) {
    if (::access(path.c_str(), F_OK) != 0)
        return Refusal{.text = errno_error(path, errno).text};
    auto output = Pipe::create();
    if (!output)
        return Refusal{.text = output.error().text};
    const auto pid = start_version(path, output->write.get());
    output->write.reset();
    if (!pid && pid.error().code == ErrorCode::NotFound)
        return Refusal{
            .text = phrase("this machine has no {linker}, the dynamic linker that loads drivers",
                           {{"linker", kDynamicLinker}}),
            .is_final = true};
    if (!pid)
        return Refusal{.text = pid.error().text};
    const auto text = output_of(output->read.get(), *pid);
    const int status = wait_for(*pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return std::nullopt;
    const auto said = trimmed(text).empty() ? "it says nothing" : std::string{trimmed(text)};
    return Refusal{.text = phrase("this machine cannot run the worker: {why}", {{"why", said}}),
                   .is_final = true};
}

/// The first place where the worker runs. Errors: ProbeFailed, with what each place said.
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
    return Error{ErrorCode::ProbeFailed, "no driver is asked: " + refusals};
}

/// Finds the place with the first target: who needs no driver does not wait for it.
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
