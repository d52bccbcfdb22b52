// SPDX-License-Identifier: Apache-2.0

// gpuprobe-worker: asks one API, writes frames to descriptor 3 and leaves. It is started by
// gpuprobed and gpuprobectl (probe/launcher.h); what it prints itself is for people who run it.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/compute/stages.h"
#include "backends/confinement.h"
#include "base/handle.h"
#include "base/record.h"
#include "base/version.h"
#include "probe/frame.h"
#include "probe/serve_worker.h"

namespace gpuprobe::backends {
namespace {

constexpr int kFramesFd = 3;
constexpr int kHighFd = 100;  // out of the way of drivers that guess at numbers
constexpr int kExitUsage = 2;

constexpr std::string_view kHelp =
    "Usage: gpuprobe-worker API [--stage query|verify|measure|processes] [--driver MANIFEST]\n"
    "                       [--library NAME] [--device pci:ADDRESS|index:N] 3>FRAMES\n"
    "       gpuprobe-worker --socket [--peer USER] [--setenv NAME=VALUE]...\n"
    "       gpuprobe-worker --list | --version | --help\n"
    "\n"
    "Asks one API about the GPUs of this machine and writes the answer to descriptor 3. The\n"
    "stages verify and measure run kernels on one of them, --device.\n"
    "It loads a vendor's driver, which may crash or hang; gpuprobed and gpuprobectl start it.\n"
    "With --socket it takes the question from the connection that systemd hands over, loads no\n"
    "driver itself, and starts another one of itself that does. Root and USER may ask.\n";

/// Frames to the descriptor, each written whole before the backend goes on.
class FrameSink final : public Sink {
public:
    explicit FrameSink(UniqueFd fd) : fd_{std::move(fd)} {}

    void phase(std::string_view name) override { write(frames_.phase(name)); }
    void runtime(const Value& facts) override { write(frames_.runtime(facts)); }
    void device(const DeviceFacts& facts) override { write(frames_.device(facts)); }
    void known() override { write(frames_.known()); }
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
                ::_exit(EXIT_FAILURE);  // no one reads any more
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

/// The job that the arguments describe. Errors: InvalidRequest.
Result<ProbeTarget> target_from(std::span<char*> arguments) {
    ProbeTarget target{.api = arguments.front()};
    for (auto rest = arguments.subspan(1); !rest.empty(); rest = rest.subspan(2)) {
        const std::string_view option = rest[0];
        if (option != "--stage" && option != "--driver" && option != "--library" &&
            option != "--device")
            return Error{ErrorCode::InvalidRequest, "unknown option " + std::string{option}};
        if (rest.size() < 2)
            return Error{ErrorCode::InvalidRequest, std::string{option} + " needs a value"};
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

const Backend* backend_for(std::string_view api) {
    const auto found = std::ranges::find(registry(), api, &Backend::api);
    return found == registry().end() ? nullptr : &*found;
}

/// The frames' descriptor under a high number that no child of a driver inherits; where there are
/// no such numbers (RLIMIT_NOFILE), under the next one.
UniqueFd take_frames() {
    UniqueFd frames{::fcntl(kFramesFd, F_DUPFD_CLOEXEC, kHighFd)};
    if (!frames)
        frames = UniqueFd{::fcntl(kFramesFd, F_DUPFD_CLOEXEC, kFramesFd + 1)};
    if (frames)
        ::close(kFramesFd);
    return frames;
}

/// What the backend says, whatever it throws.
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

int serve(std::span<char*> options) {
    const auto served = serve_socket(options);
    if (served)
        return EXIT_SUCCESS;
    (void)usage_error(served.error().text);
    return served.error().code == ErrorCode::InvalidRequest ? kExitUsage : EXIT_FAILURE;
}

int run(std::span<char*> arguments) {
    if (arguments.empty()) {
        print(stderr, kHelp);
        return kExitUsage;
    }
    const std::string_view first = arguments.front();
    if (first == "--help" || first == "--version" || first == "--list") {
        if (arguments.size() > 1)
            return usage_error(std::string{first} + " stands alone");
        if (first == "--help")
            print(stdout, kHelp);
        if (first == "--version")
            print(stdout, "gpuprobe-worker " + std::string{kVersion} + "\n");
        if (first == "--list")
            list_apis();
        return EXIT_SUCCESS;
    }
    if (first == "--socket")
        return serve(arguments.subspan(1));
    const auto target = target_from(arguments);
    if (!target)
        return usage_error(target.error().text);
    const auto* backend = backend_for(target->api);
    if (!backend)
        return usage_error("unknown API " + target->api);
    if (!is_stage(target->stage))
        return usage_error("unknown stage " + target->stage);
    auto frames = take_frames();
    if (!frames)
        return usage_error("descriptor 3 is not open");
    // Exec resets it, so no one can set it for us. A dump of a vendor's crash only takes time.
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto confinement = confine();
    for (const auto& problem : confinement.problems)
        (void)usage_error(problem);  // printed, and told where the probe fails
    FrameSink sink{std::move(frames)};
    sink.confined(confinement);
    const auto answer = answer_of(*backend, *target, sink);
    sink.phase(
        "end");  // what a driver's threads do from here on is not blamed on the last question
    sink.done(answer);
    // No destructor and no exit handler: drivers crash and hang in theirs.
    ::_exit(EXIT_SUCCESS);
}

}  // namespace
}  // namespace gpuprobe::backends

int main(int argc, char** argv) {
    const auto count = static_cast<std::size_t>(argc);
    return gpuprobe::backends::run(std::span{argv, count}.last(count - (count > 0 ? 1 : 0)));
}
