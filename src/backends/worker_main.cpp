// SPDX-License-Identifier: Apache-2.0

// gpuprobe-worker: probes one API, writes frames to descriptor 3 and exits. gpuprobed and
// gpuprobectl start the worker (probe/launcher.h); the text output is for people who start the
// worker themselves.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/compute/stages.h"
#include "backends/sandbox.h"
#include "base/files.h"
#include "base/record.h"
#include "base/version.h"
#include "probe/launcher.h"
#include "probe/socket_worker.h"
#include "probe/worker_answer.h"
#include "probe/worker_sandbox.h"
#include "report/trials.h"

namespace gpuprobe::backends {
namespace {

constexpr int kFramesFd = 3;
constexpr int kHighFd = 100;  // above the descriptors that drivers might guess
constexpr int kExitUsage = 2;

constexpr std::string_view kHelp =
    "Usage: gpuprobe-worker API [--stage query|verify|measure|processes] [--driver MANIFEST]\n     "
    "                  [--library NAME] [--device pci:ADDRESS|index:N] 3>FRAMES\n       "
    "gpuprobe-worker --wait <ARGUMENTS 3>FRAMES\n       gpuprobe-worker --socket [--peer USER] "
    "[--setenv NAME=VALUE]...\n       gpuprobe-worker --list | --readable | --version | "
    "--help\n\nProbes the GPUs of this machine through one API and writes the answer to descriptor "
    "3. The\nstages verify and measure run kernels on the GPU that --device names.\nThe worker "
    "loads the vendor's driver, which may crash or hang. gpuprobed and gpuprobectl\nstart "
    "workers.\nWith --wait, the worker first enters its sandbox, then reads its arguments from "
    "standard\ninput, with a NUL after each argument.\n--readable lists the files and folders that "
    "a driver may read.\nWith --socket, the worker reads a request from the connection that "
    "systemd passed to it, and\nstarts another worker, which loads the driver. Only root and USER "
    "may send requests.\n";

/// Writes frames to a descriptor. Each frame is written completely before the backend continues.
class FrameSink final : public Sink {
public:
    explicit FrameSink(UniqueFd fd) : fd_{std::move(fd)} {}

    void phase(std::string_view name) override { write(frames_.phase(name)); }
    void runtime(const Value& facts) override { write(frames_.runtime(facts)); }
    void device(const DeviceFacts& facts) override { write(frames_.device(facts)); }
    void known() override { write(frames_.known()); }
    /// Waits until the reader closes its end of the pipe, but no longer than `patience`.
    void stay(std::chrono::milliseconds patience) const {
        // With no events requested, poll() returns only for an error or a hang-up.
        pollfd end = {.fd = fd_.get(), .events = 0, .revents = 0};
        (void)::poll(&end, 1, static_cast<int>(patience.count()));
    }
    void confined(const Confinement& confinement) { write(frames_.confined(confinement.by)); }
    void done(const Answer& answer) {
        write(frames_.done(answer.outcome, answer.note, answer.reasons));
    }

private:
    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto written = ::write(fd_.get(), bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                ::_exit(EXIT_FAILURE);  // the reader has closed its end
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    UniqueFd fd_ = {};
    FrameWriter frames_ = {};
};

void print(std::FILE* stream, std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stream);
}

[[nodiscard]] int usage_error(std::string_view problem) {
    print(stderr, "gpuprobe-worker: " + std::string{problem} + "\n");
    return kExitUsage;
}

/// The target that the arguments describe. Errors: InvalidRequest for an unknown option or a
/// missing value.
Result<ProbeTarget> target_from(std::span<char*> arguments) {
    ProbeTarget target{.api = arguments.front()};
    for (auto rest = arguments.subspan(1); !rest.empty(); rest = rest.subspan(2)) {
        const std::string_view option = rest[0];
        if (option != "--stage" && option != "--driver" && option != "--library" &&
            option != "--device")
            return Error{ErrorCode::InvalidRequest, "unknown option " + std::string{option}};
        if (rest.size() < 2)
            return Error{ErrorCode::InvalidRequest, std::string{option} + " requires a value"};
        if (option == "--stage")
            target.stage = rest[1];
        if (option == "--driver")
            target.driver = rest[1];
        if (option == "--library")
            target.library = rest[1];
        if (option == "--device")
            target.device = rest[1];
    }
    return target;
}

/// The backend of an API; null for an unknown API.
const Backend* backend_for(std::string_view api) {
    const auto found = std::ranges::find(registry(), api, &Backend::api);
    return found == registry().end() ? nullptr : &*found;
}

/// Moves descriptor 3 to a high number, or to the next free number if RLIMIT_NOFILE forbids high
/// numbers. The copy is close-on-exec, so that no child of a driver inherits it.
UniqueFd take_frames() {
    UniqueFd frames{::fcntl(kFramesFd, F_DUPFD_CLOEXEC, kHighFd)};
    if (!frames)
        frames = UniqueFd{::fcntl(kFramesFd, F_DUPFD_CLOEXEC, kFramesFd + 1)};
    if (frames)
        ::close(kFramesFd);
    return frames;
}

/// The backend's answer. An exception, or an outcome that a backend must not return, becomes a
/// Failed answer.
Answer answer_of(const Backend& backend, const ProbeTarget& target, Sink& sink) try {
    auto answer = ask(backend, target, sink);
    const auto outcome = answer.outcome;
    if (outcome != Outcome::Answered && outcome != Outcome::Absent && outcome != Outcome::Failed)
        answer.outcome = Outcome::Failed;
    return answer;
} catch (const std::exception& problem) {
    return Answer{.outcome = Outcome::Failed, .note = std::string{problem.what()}};
} catch (...) {
    return Answer{.outcome = Outcome::Failed, .note = "an exception of unknown type"};
}

void list_apis() {
    for (const auto& backend : registry())
        print(stdout, std::string{backend.api} + "\n");
}

/// Prints the existing paths that a driver may read.
void list_readable() {
    for (const auto& place : readable_places({}, ::getppid() == 0))
        if (::access(place.c_str(), F_OK) == 0)
            print(stdout, place + "\n");
}

/// Runs the mode that systemd's socket unit uses, and returns the exit status.
int serve(std::span<char*> options) {
    const auto served = serve_socket(options);
    if (served)
        return EXIT_SUCCESS;
    (void)usage_error(served.error().text);
    return served.error().code == ErrorCode::InvalidRequest ? kExitUsage : EXIT_FAILURE;
}

struct Job {
    const Backend* backend = nullptr;
    ProbeTarget target = {};
};

/// The job that the arguments describe; there must be at least one argument. Errors:
/// InvalidRequest.
Result<Job> job_from(std::span<char*> arguments) {
    Job job{.target = TRY(target_from(arguments))};
    job.backend = backend_for(job.target.api);
    if (!job.backend)
        return Error{ErrorCode::InvalidRequest, "unknown API " + job.target.api};
    if (!is_stage(job.target.stage))
        return Error{ErrorCode::InvalidRequest, "unknown stage " + job.target.stage};
    return job;
}

/// The state of a process that is in the sandbox and may therefore load a driver.
struct Held {
    UniqueFd frames = {};
    Confinement confinement = {};
};

/// Puts this process into the sandbox for a job. Errors: InvalidRequest if descriptor 3 is
/// closed.
Result<Held> hold(const ProbeTarget& job) {
    auto frames = take_frames();
    if (!frames)
        return Error{ErrorCode::InvalidRequest, "descriptor 3 is not open"};
    // Disable core dumps, because writing a core dump after a driver crash only takes time. exec(2)
    // resets the flag, so the parent cannot set it for this process.
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)std::signal(SIGPIPE, SIG_IGN);
    Held held{.frames = std::move(frames), .confinement = confine(job)};
    for (const auto& problem : held.confinement.problems)
        (void)usage_error(problem);  // the parent adds this output to the result of a failed probe
    return held;
}

/// Runs the job's stage, writes its frames and ends the process. After a query, a worker may stay
/// with its driver loaded (kStaysVariable) until the parent closes the pipe.
[[noreturn]] void work(const Job& job, Held held) {
    const bool stays = job.target.stage == kQueryStage && std::getenv(kStaysVariable);
    FrameSink sink{std::move(held.frames)};
    sink.confined(held.confinement);
    const auto answer = answer_of(*job.backend, job.target, sink);
    // From here on, a crash or hang in a driver thread must not be attributed to the last step.
    sink.phase("end");
    sink.done(answer);
    if (stays && answer.outcome == Outcome::Answered)
        sink.stay(kStays);
    // Skip destructors and exit handlers, because drivers crash and hang in their exit handlers.
    ::_exit(EXIT_SUCCESS);
}

/// Reads stdin up to its end; returns an empty string if stdin contains 16 KiB or more.
std::string take_job() {
    std::array<char, 16384> job;
    std::size_t size = 0;
    for (ssize_t count = 1; count > 0 && size < job.size(); size += static_cast<std::size_t>(count))
        count = std::max<ssize_t>(::read(STDIN_FILENO, job.data() + size, job.size() - size), 0);
    return {job.data(), size < job.size() ? size : 0};
}

/// The NUL-terminated arguments in a string, as pointers to them; none if the last NUL is missing.
std::vector<char*> arguments_in(std::string& text) {
    std::vector<char*> arguments;
    if (text.ends_with('\0'))
        for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1)
            arguments.push_back(text.data() + at);
    return arguments;
}

/// The mode --wait: enters the sandbox first, then reads the job from stdin, so that a worker can
/// be started before its job is known. Succeeds without a job if stdin is empty.
int wait_and_work(std::span<char*> more) {
    if (!more.empty())
        return usage_error(std::string{kWaitsForJob} + " cannot be combined with other arguments");
    const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    auto held = hold({});
    if (!held)
        return usage_error(held.error().text);
    // From here on, the process waits for its job. The driver gets /dev/null as stdin, which is
    // opened before the process enters the sandbox.
    auto text = take_job();
    (void)::dup2(null.get(), STDIN_FILENO);
    auto arguments = arguments_in(text);
    if (arguments.empty())
        return EXIT_SUCCESS;
    const auto job = job_from(arguments);
    if (!job)
        return usage_error(job.error().text);
    work(*job, *std::move(held));
}

int run(std::span<char*> arguments) {
    if (arguments.empty()) {
        print(stderr, kHelp);
        return kExitUsage;
    }
    const std::string_view first = arguments.front();
    // Options that print something and take no further arguments.
    if (first == "--help" || first == "--version" || first == "--list" || first == "--readable") {
        if (arguments.size() > 1)
            return usage_error(std::string{first} + " cannot be combined with other arguments");
        if (first == "--help")
            print(stdout, kHelp);
        if (first == "--version")
            print(stdout, "gpuprobe-worker " + std::string{kVersion} + "\n");
        if (first == "--list")
            list_apis();
        if (first == "--readable")
            list_readable();
        return EXIT_SUCCESS;
    }
    if (first == "--socket")
        return serve(arguments.subspan(1));
    if (first == kWaitsForJob)
        return wait_and_work(arguments.subspan(1));
    // The usual case: the arguments describe one job.
    const auto job = job_from(arguments);
    if (!job)
        return usage_error(job.error().text);
    auto held = hold(job->target);
    if (!held)
        return usage_error(held.error().text);
    work(*job, *std::move(held));
}

}  // namespace
}  // namespace gpuprobe::backends

int main(int argc, char** argv) {
    const auto count = static_cast<std::size_t>(argc);
    return gpuprobe::backends::run(std::span{argv, count}.last(count - (count > 0 ? 1 : 0)));
}
