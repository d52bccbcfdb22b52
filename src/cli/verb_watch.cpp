// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/device_watch.h"
#include "cli/use_text.h"
#include "cli/verbs.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

/// The time between two lines of output.
constexpr Duration kBetween = std::chrono::seconds{1};
/// How long to wait for NVML before the first line.
constexpr Duration kWatchPatience = std::chrono::seconds{5};

/// The line for users: devices, "no GPU", or why it is not known.
std::string line_of(const SeenUse& seen, const Report& report) {
    if (!seen.devices.empty())
        return devices_text(seen.devices, report);
    return seen.doubts.empty()
               ? "no GPU"
               : phrase("not known: {doubts}", {{"doubts", doubts_text(seen.doubts)}});
}

/// Watches one process for as long as it runs.
class Watching {
public:
    Watching(Context& context, const Report& report, EventLoop& loop)
        : context_{context},
          report_{report},
          pid_{static_cast<pid_t>(*context.arguments.run.pid)},
          is_once_{context.arguments.run.looks_once ||
                   !(context.screen.is_terminal || context.wants_json())},
          until_{clock_.monotonic() + kWatchPatience},
          watch_{loop,   context.arguments,
                 report, pid_,
                 "",     [this](const std::vector<watch::DeviceUse>& uses) { looked(uses); }} {}

    [[nodiscard]] bool is_done() const { return is_done_; }
    /// The exit code. Errors: NotFound if there is no such process, NotAuthorized.
    [[nodiscard]] Result<ExitCode> finish() {
        if (is_live_)
            print("\n");
        if (problem_)
            return *problem_;
        return ExitCode::Answered;
    }

private:
    // Called after each look.
    void looked(const std::vector<watch::DeviceUse>& uses) {
        const auto& watcher = watch_.watcher();
        const SeenUse seen{.devices = uses, .doubts = watcher.doubts()};
        if (watcher.running() == 0)
            return ended();
        // The process can't be inspected, and no driver reports that it uses a device.
        if (!watcher.sees_root() && uses.empty() && watch_.is_settled())
            return give_up({ErrorCode::NotAuthorized,
                            fmt::format("watch: you have no permission to look into process {}; "
                                        "the user that it runs as has, and root",
                                        pid_)});
        const auto now = clock_.monotonic();
        // NVML needs a while. Until then the first line would be incomplete.
        const bool is_ready = watch_.is_settled() || now >= until_;
        if (!is_ready || (told_at_ && now - *told_at_ < kBetween))
            return;
        told_at_ = now;
        show(seen);
        is_done_ = is_once_;
    }

    /// Prints a line; on a terminal it replaces the previous one.
    void show(const SeenUse& seen) {
        if (context_.wants_json()) {
            print_document(seen);
        } else if (is_once_) {
            print(line_of(seen, report_) + "\n");
        } else {
            is_live_ = true;
            print("\r\x1b[K" + cut_to(line_of(seen, report_), context_.screen.columns - 1,
                                      context_.screen.ellipsis()));
        }
        std::fflush(stdout);
    }

    /// Prints a document; in a stream each one is on its own line.
    void print_document(const SeenUse& seen) {
        Value document;
        document["pid"] = static_cast<int>(pid_);
        document["processes"] = watch_.watcher().running();
        document["uses"] = devices_document(seen.devices, report_);
        document["doubts"] = doubts_document(seen.doubts);
        if (is_once_)
            print_json(context_.arguments, document);
        else
            print(json_line(document) + "\n");
    }

    /// The process has ended, or never existed if nothing was printed yet.
    void ended() {
        if (!told_at_)
            return give_up(
                {ErrorCode::NotFound, fmt::format("watch: there is no process {}", pid_)});
        is_done_ = true;
    }

    void give_up(Error problem) {
        problem_ = std::move(problem);
        is_done_ = true;
    }

    Context& context_;
    const Report& report_;
    pid_t pid_;
    bool is_once_;
    SystemClock clock_ = {};
    MonotonicTime until_;
    std::optional<MonotonicTime> told_at_ = {};
    bool is_done_ = false;
    bool is_live_ = false;
    std::optional<Error> problem_ = {};
    DeviceWatch watch_;
};

Result<ExitCode> run_watch(Context& context) {
    const auto report = TRY(context.client.report());
    const auto loop = TRY(SystemLoop::create());
    TRY(loop->stop_on_signals());
    Watching watching{context, report, *loop};
    // An interrupt is the normal way to end it.
    (void)loop->run_until([&watching] { return watching.is_done(); });
    return watching.finish();
}

Status check_watch(Arguments& arguments) {
    constexpr std::uint64_t kMaxPid = 1U << 22U;  // proc_sys_kernel(5), pid_max
    if (!arguments.run.pid)
        return refusal("watch: which process? Its number is needed");
    if (*arguments.run.pid == 0 || *arguments.run.pid > kMaxPid)
        return refusal(
            fmt::format("watch: {} cannot be the number of a process", *arguments.run.pid));
    return Done{};
}

}  // namespace

Verb watch_verb() {
    return {
        .name = "watch",
        .overview = {{"watch PID", "which GPU a running program uses, and how much of it"}},
        .usage = {"watch PID [--once]"},
        .about = R"page(
Which GPUs the process and everything it has started use now, how much memory they have there, and
through which API. On a terminal a line that is kept up to date until the process ends; elsewhere,
and with --once, one line. With -j one JSON document, or one a second.

You can look into your own processes, and root into all; of others only KFD and NVIDIA's driver
report. What cannot be seen is said to be not known.
)page",
        .operands = {{.word = {.name = "PID"}, .take = put<&Arguments::run, &RunArguments::pid>}},
        .options = {{.names = "--once",
                     .help = "look once",
                     .take = put<&Arguments::run, &RunArguments::looks_once>}},
        .check = check_watch,
        .run = run_watch};
}

}  // namespace gpuprobe::inline cli
