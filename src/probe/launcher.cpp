// SPDX-License-Identifier: Apache-2.0
#include "probe/launcher.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/text.h"
#include "probe/spawn.h"
#include "probe/worker_sandbox.h"

namespace gpuprobe::inline probe {
namespace {

constexpr int kFarewellMilliseconds = 100;

Duration duration(const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

/// The longest time that a child of the reaper waited for a CPU. The reaper's children are the
/// worker and the namespace's init process, which only sleeps.
/// Sources: proc(5), /proc/pid/task/tid/children; Linux, Documentation/scheduler/sched-stats.rst,
/// /proc/pid/schedstat: time on a CPU and time waiting for a CPU, in nanoseconds.
Duration longest_wait_below(pid_t keeper) {
    const RootedFiles files;
    const auto number = std::to_string(keeper);
    const auto children = files.read("/proc/" + number + "/task/" + number + "/children", kib(4));
    Duration longest = {};
    for (const auto child : words(std::string_view{children ? *children : number})) {
        const auto times = files.line("/proc/" + std::string{child} + "/schedstat");
        const auto fields = words(std::string_view{times ? *times : number});
        const auto waited =
            fields.size() > 1 ? parse_number<std::int64_t>(fields[1]) : std::nullopt;
        longest = std::max(longest, std::chrono::duration_cast<Duration>(
                                        std::chrono::nanoseconds{waited.value_or(0)}));
    }
    return longest;
}

/// A worker that this process started, with the reaper as its direct child.
class SpawnedWorker final : public Worker {
public:
    SpawnedWorker(StartingProcess process,
                  std::shared_ptr<bool> has_started,
                  UniqueFd frames,
                  UniqueFd output,
                  RunFolder folder)
        : starting_{std::move(process)},
          has_started_{std::move(has_started)},
          frames_{std::move(frames)},
          output_{std::move(output)},
          folder_{std::move(folder)} {}

    SpawnedWorker(const SpawnedWorker&) = delete;
    SpawnedWorker& operator=(const SpawnedWorker&) = delete;
    ~SpawnedWorker() override {
        // If the worker was killed before, the caller has already given the worker time to end.
        const auto patience = is_killed_ ? 0 : kFarewellMilliseconds;
        kill();
        pollfd end = {.fd = process().pidfd.get(), .events = POLLIN, .revents = 0};
        if (!exit_ && ::poll(&end, 1, patience) > 0)
            (void)reap();
    }

    [[nodiscard]] int frames() const override { return frames_.get(); }
    [[nodiscard]] int output() const override { return output_.get(); }
    [[nodiscard]] int ended() const override { return process().pidfd.get(); }
    void let_go() override { frames_.reset(); }
    [[nodiscard]] Duration waited_for_processor() const override {
        return exit_ ? Duration{} : longest_wait_below(process().pid);
    }

    void kill() override {
        if (exit_)
            return;  // already reaped: the pid may have been reused
        is_killed_ = true;
        // SIGTERM goes to the reaper, which kills the worker with SIGKILL.
        ::kill(process().pid, SIGTERM);
        ::kill(process().pid, SIGCONT);  // a driver may have stopped the reaper
    }

    [[nodiscard]] std::optional<WorkerExit> reap() override {
        if (exit_)
            return exit_;
        siginfo_t info = {};
        rusage usage = {};
        // libc's waitid() can't be used, because it lacks the parameter for the resource usage.
        const auto waited =
            ::syscall(SYS_waitid, P_PID, process().pid, &info, WEXITED | WNOHANG, &usage);
        if (waited == 0 && info.si_pid == 0)
            return std::nullopt;
        exit_ = WorkerExit{};
        if (waited != 0)
            return exit_;  // the process was reaped elsewhere
        exit_->processor_time = duration(usage.ru_utime) + duration(usage.ru_stime);
        exit_->peak_memory = kib(static_cast<std::uint64_t>(usage.ru_maxrss));
        if (info.si_code == CLD_EXITED)
            exit_->code = info.si_status;
        else
            exit_->signal = info.si_status;
        exit_->never_ran = !has_run(starting_);
        if (exit_->never_ran)
            *has_started_ = false;
        return exit_;
    }

private:
    [[nodiscard]] const SpawnedProcess& process() const { return starting_.process; }

    StartingProcess starting_ = {};
    std::shared_ptr<bool> has_started_;  ///< shared with the launcher
    UniqueFd frames_ = {};
    UniqueFd output_ = {};
    RunFolder folder_;  ///< removed after the worker has ended
    std::optional<WorkerExit> exit_ = {};
    bool is_killed_ = false;  ///< kill() was called
};

/// The worker's command line arguments for a target.
std::vector<std::string> job_arguments(const ProbeTarget& target) {
    std::vector<std::string> arguments = {target.api, "--stage", target.stage};
    if (!target.driver.empty())
        arguments.insert(arguments.end(), {"--driver", target.driver});
    if (target.library)
        arguments.insert(arguments.end(), {"--library", *target.library});
    if (target.device)
        arguments.insert(arguments.end(), {"--device", *target.device});
    return arguments;
}

std::vector<std::string> command_line(const std::string& program, const ProbeTarget& target) {
    auto arguments = job_arguments(target);
    arguments.insert(arguments.begin(), program);
    return arguments;
}

Status make_folder(const std::string& path) {
    std::error_code problem;
    std::filesystem::create_directories(path, problem);
    if (problem)
        return errno_error(path, problem.value());
    return Done{};
}

/// A folder that contains only this target's .icd file, because a folder is the only setting that
/// all OpenCL loaders support; "" for a target without a driver. The trailing slash is required:
/// the Khronos loader that CUDA 13.0 installs joins folder and file name without a slash, and then
/// finds no driver.
Result<std::string> opencl_vendors(const ProbeTarget& target, const std::string& home) {
    if (target.api != "opencl" || !target.library)
        return std::string{};
    // Each driver has one folder, which all runs share.
    const auto* name = reinterpret_cast<const unsigned char*>(target.driver.data());
    const auto sum = crc32(0, name, static_cast<uInt>(target.driver.size()));
    const auto folder = home + "/icd-" + std::to_string(sum);
    (void)TRY(make_folder(folder));
    const auto file = folder + "/driver.icd";
    const auto content = *target.library + "\n";
    const auto present = RootedFiles{}.read(file, kib(64));
    if (!present || *present != content)
        (void)TRY(write_scratch(file, content));
    return folder + "/";
}

/// Folders outside the system folders that contain libraries or manifests of drivers, and that must
/// therefore stay visible in the worker's namespaces.
std::vector<std::string> needed_paths(const std::vector<std::string>& own,
                                      const WorkerVariables& extra) {
    auto paths = own;
    if (const auto folders = extra.find("LD_LIBRARY_PATH"); folders != extra.end())
        for (const auto& folder : split(folders->second, ':'))
            paths.emplace_back(folder);
    return paths;
}

/// The connection through which a waiting worker gets its job. The connection is a socket instead
/// of a pipe, because writing to a pipe without a reader raises SIGPIPE.
struct JobLine {
    UniqueFd ours = {};
    UniqueFd worker = {};
    static Result<JobLine> create() {
        std::array<int, 2> ends = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            return errno_error("socketpair", errno);
        UniqueFd ours{ends[0]};
        UniqueFd worker{ends[1]};
        auto high = TRY(raised(std::move(worker)));
        return JobLine{.ours = std::move(ours), .worker = std::move(high)};
    }
};

/// Sends the job to a waiting worker. Returns false if the worker has ended.
bool send_job(const UniqueFd& line, const ProbeTarget& target) {
    std::string job;
    for (const auto& argument : job_arguments(target))
        job += argument + '\0';
    // Closing our end would not cause end-of-file, because the reaper may hold the same end.
    return ::send(line.get(), job.data(), job.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(job.size()) &&
           ::shutdown(line.get(), SHUT_WR) == 0;
}

/// Converts any error to ProbeFailed, the only error that launch() may return.
Result<std::unique_ptr<Worker>> or_not_started(Result<std::unique_ptr<Worker>> worker) {
    if (!worker)
        return Error{ErrorCode::ProbeFailed, std::move(worker).error().text};
    return worker;
}

/// The absolute path, because workers start in a different working directory. A path that can't be
/// made absolute isn't changed; starting the program fails later.
std::string absolute_path(const std::string& path) {
    std::error_code problem;
    const auto whole = std::filesystem::absolute(path, problem);
    return problem ? path : whole.string();
}

std::string folder_of(const std::string& path) {
    return std::filesystem::path{path}.parent_path().string();
}

}  // namespace

SpawnLauncher::SpawnLauncher(std::string program,
                             std::string home,
                             std::map<std::string, std::string> extra_environment)
    : program_{absolute_path(program)},
      home_{std::move(home)},
      extra_environment_{std::move(extra_environment)} {}

SpawnLauncher::~SpawnLauncher() {
    forget_prepared();
}

Status SpawnLauncher::prepare_home() {
    if (temporary_)
        return Done{};
    if (home_.empty()) {
        std::error_code ignored;
        temporary_ =
            TRY(RunFolder::make(std::filesystem::temp_directory_path(ignored), "gpuprobe"));
        home_ = temporary_->path();
        return Done{};
    }
    return make_folder(home_);
}

/// Starts a process, in new namespaces if `is_apart`. If the machine does not allow namespaces,
/// this and all later workers start without them. Waits for the program to run, but only if no
/// worker has run with the current settings yet.
Result<StartingProcess> SpawnLauncher::start(SpawnOrder& order,
                                             const std::vector<std::string>& needed,
                                             bool is_apart) {
    const Namespaces namespaces{order.folder, needed_paths(needed, extra_environment_)};
    order.namespaces = has_namespaces_ && is_apart ? &namespaces : nullptr;
    auto starting = TRY(spawn(order));
    if (*has_started_)
        return starting;
    const auto runs = await_running(starting);
    // A start without namespaces proves nothing about later starts with namespaces.
    *has_started_ = runs && (is_apart || !has_namespaces_);
    if (runs)
        return starting;
    if (runs.error().code != ErrorCode::Unavailable)
        return runs.error();
    has_namespaces_ = false;
    return start(order, needed, is_apart);
}

Result<std::unique_ptr<Worker>> SpawnLauncher::launch_order(
    const ProbeTarget& target, int frames, int output, Pipe own_frames, Pipe own_output) {
    if (auto home = prepare_home(); !home)
        return std::move(home).error().in("the drivers' folder");
    auto folder = TRY(RunFolder::make(home_, "run"));
    const auto vendors = TRY(opencl_vendors(target, home_));
    SpawnOrder order{.arguments = command_line(program_, target),
                     .environment = environment_block(
                         worker_environment(target, folder.path(), vendors, extra_environment_)),
                     .frames = frames,
                     .output = output,
                     .folder = folder.path()};
    const std::vector<std::string> needed = {folder_of(program_), folder_of(target.driver), vendors,
                                             folder_of(target.library.value_or(""))};
    // The processes stage must see the machine's processes, so it gets no namespaces.
    auto starting = TRY(start(order, needed, target.stage != kProcessesStage));
    return std::unique_ptr<Worker>{std::make_unique<SpawnedWorker>(
        std::move(starting), has_started_, std::move(own_frames.read), std::move(own_output.read),
        std::move(folder))};
}

/// A worker that waits for its job.
struct SpawnLauncher::Prepared {
    StartingProcess starting;
    UniqueFd frames;
    UniqueFd output;
    UniqueFd job;  ///< for the worker's arguments, each followed by a NUL
    RunFolder folder;
    std::vector<std::string> environment;

    /// Waits until the worker is running, then converts this object to a Worker. Errors: the same
    /// as for await_running().
    Result<std::unique_ptr<Worker>> worker(const std::shared_ptr<bool>& has_started) && {
        (void)TRY(await_running(starting));
        *has_started = true;
        return std::unique_ptr<Worker>{
            std::make_unique<SpawnedWorker>(std::move(starting), has_started, std::move(frames),
                                            std::move(output), std::move(folder))};
    }
};

Result<std::unique_ptr<SpawnLauncher::Prepared>> SpawnLauncher::prepared() {
    (void)TRY(prepare_home());
    auto folder = TRY(RunFolder::make(home_, "run"));
    auto frames = TRY(worker_pipe());
    auto output = TRY(worker_pipe());
    auto job = TRY(JobLine::create());
    const auto environment =
        environment_block(worker_environment({}, folder.path(), "", extra_environment_));
    const Namespaces namespaces{folder.path(),
                                needed_paths({folder_of(program_)}, extra_environment_)};
    auto starting = TRY(spawn({.arguments = {program_, std::string{kWaitsForJob}},
                               .environment = environment,
                               .frames = frames.write.get(),
                               .output = output.write.get(),
                               .input = job.worker.get(),
                               .folder = folder.path(),
                               .namespaces = has_namespaces_ ? &namespaces : nullptr}));
    return std::make_unique<Prepared>(Prepared{.starting = std::move(starting),
                                               .frames = std::move(frames.read),
                                               .output = std::move(output.read),
                                               .job = std::move(job.ours),
                                               .folder = std::move(folder),
                                               .environment = environment});
}

/// Errors are ignored here; the first launch() will report them.
void SpawnLauncher::prepare() {
    forget_prepared();
    if (auto one = prepared())
        prepared_ = *std::move(one);
}

void SpawnLauncher::forget_prepared() {
    if (!prepared_)
        return;
    if (auto worker = std::move(*std::exchange(prepared_, nullptr)).worker(has_started_)) {
        forgotten_ = *std::move(worker);
        forgotten_->kill();
    }
}

/// Sends the job to the prepared worker and returns this worker. Null if there is no prepared
/// worker, or if a worker for this target needs other arguments, another environment or other
/// namespaces.
std::unique_ptr<Worker> SpawnLauncher::take_prepared(const ProbeTarget& target) {
    if (!prepared_ || !target.driver.empty() || target.library || target.stage == kProcessesStage ||
        prepared_->environment != environment_block(worker_environment(
                                      target, prepared_->folder.path(), "", extra_environment_)))
        return nullptr;
    const auto one = std::exchange(prepared_, nullptr);
    const auto job = std::move(one->job);
    auto worker = std::move(*one).worker(has_started_);
    return worker && send_job(job, target) ? *std::move(worker) : nullptr;
}

/// The write ends of the pipes are closed on return, so that end-of-file means that no worker
/// process holds them any longer.
Result<std::unique_ptr<Worker>> SpawnLauncher::launch(const ProbeTarget& target) {
    if (forgotten_ && forgotten_->reap())
        forgotten_.reset();
    if (auto worker = take_prepared(target))
        return worker;
    auto frames = worker_pipe();
    auto output = worker_pipe();
    if (!frames || !output)
        return Error{ErrorCode::ProbeFailed, (frames ? output : frames).error().text};
    const int frames_end = frames->write.get();
    const int output_end = output->write.get();
    return or_not_started(
        launch_order(target, frames_end, output_end, *std::move(frames), *std::move(output)));
}

Result<std::unique_ptr<Worker>> SpawnLauncher::launch_into(const ProbeTarget& target,
                                                           int frames,
                                                           int output) {
    return or_not_started(launch_order(target, frames, output, {}, {}));
}

}  // namespace gpuprobe::inline probe
