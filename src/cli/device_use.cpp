// SPDX-License-Identifier: Apache-2.0
#include "cli/device_use.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/paths.h"
#include "cli/verb.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "probe/spawn.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

using watch::DeviceUse;
using watch::Doubt;

struct DoubtWords {
    Doubt doubt;
    std::string_view text;
};
constexpr std::array<DoubtWords, 5> kDoubts = {
    {{Doubt::NotReadable, "no permission to inspect one of the program's processes"},
     {Doubt::NodeOpen, "the driver of one device does not report how much memory a process uses"},
     {Doubt::EndedTooSoon, "the process ended before NVIDIA's driver library reported its GPU use"},
     {Doubt::TooMany, "the process has too many child processes"},
     {Doubt::SeldomSeen, "the machine was too busy to check the process often enough"}}};

/// The devices that are GPUs. All other devices are accelerators.
std::vector<DeviceUse> gpus_in(const std::vector<DeviceUse>& devices, const Report& report) {
    std::vector<DeviceUse> gpus;
    std::ranges::copy_if(devices, std::back_inserter(gpus), [&report](const DeviceUse& use) {
        return find_gpu(report, use.device) != nullptr;
    });
    return gpus;
}

/// The device's name, followed by its id if another GPU has the same name.
std::string device_title(std::string_view id, const Report& report) {
    const auto whole = whole_id(id);
    const auto accelerator = std::ranges::find(report.accelerators, whole, &Accelerator::id);
    if (accelerator != report.accelerators.end())
        return scrubbed(accelerator_title(*accelerator), 128);
    const auto* gpu = find_gpu(report, whole);
    if (!gpu)
        return scrubbed(id, 128);
    const auto title = gpu_title(*gpu);
    const auto alike = std::ranges::count_if(
        report.gpus, [&title](const Gpu& other) { return gpu_title(other) == title; });
    return scrubbed(alike > 1 ? fmt::format("{} ({})", title, id) : title, 128);
}

/// The labels of the APIs, such as "CUDA or HIP"; nullopt if no API is known.
std::optional<std::string> api_labels(const std::vector<std::string>& apis) {
    std::vector<std::string> labels;
    for (const auto& word : apis) {
        const auto* api = find_api(word);
        labels.emplace_back(api ? api->label : std::string_view{word});
    }
    return labels.empty() ? std::nullopt : std::optional{joined_with_or(labels)};
}

/// A device and the memory that is used on it, such as "NVIDIA H200, 18.2 GiB".
std::string device_text(const DeviceUse& use, const Report& report) {
    return phrase("{device}[, {memory}]",
                  {{"device", device_title(use.device, report)},
                   {"memory", use.memory ? std::optional{size_text(*use.memory)} : std::nullopt}});
}

/// The choice, if it differs from the observed use; nullopt if it does not differ, or if the use is
/// unknown.
std::optional<std::string> contrast(const SeenUse& seen,
                                    const ChosenUse& chosen,
                                    const Report& report) {
    if (is_as_chosen(seen, chosen, report).value_or(true))
        return std::nullopt;
    // Name the GPUs only if the program used GPUs that weren't chosen; otherwise the name of the
    // backend is enough.
    const auto ids_differ = std::ranges::any_of(seen.devices, [&chosen](const DeviceUse& use) {
        return std::ranges::none_of(chosen.gpus,
                                    [&use](const auto& id) { return whole_id(id) == use.device; });
    });
    return ids_differ ? chosen_text(chosen, report) : scrubbed(chosen.backend, 64);
}

/// The result if no GPU was seen. The result is certain only if there are no doubts.
std::optional<bool> none_is(bool wanted, const SeenUse& seen) {
    return seen.doubts.empty() ? std::optional{wanted} : std::nullopt;
}

/// Whether one of the GPUs may have been used through the API; nullopt if no API is known for any
/// of them.
std::optional<bool> is_through(const std::vector<DeviceUse>& gpus, std::string_view api) {
    bool is_known = false;
    for (const auto& use : gpus) {
        if (contains(use.apis, api))
            return true;
        is_known |= !use.apis.empty();
    }
    return is_known ? std::optional{false} : std::nullopt;
}

/// The API for a value of --expect, which is the name of an API or of a backend that uses the API;
/// "" for other words.
std::string_view api_word(std::string_view word) {
    return computes(word) ? word : api_below(word);
}

}  // namespace

bool is_expectable(std::string_view word) {
    return word == kCpu || !api_word(word).empty();
}

bool is_same_api(std::string_view word, std::string_view backend) {
    return !api_word(word).empty() && api_word(word) == api_below(backend);
}

std::optional<bool> is_as_expected(const SeenUse& seen,
                                   std::string_view word,
                                   const Report& report) {
    const auto gpus = gpus_in(seen.devices, report);
    if (word == kCpu)
        return gpus.empty() ? none_is(true, seen) : std::optional{false};
    return gpus.empty() ? none_is(false, seen) : is_through(gpus, api_word(word));
}

std::optional<bool> is_as_chosen(const SeenUse& seen,
                                 const ChosenUse& chosen,
                                 const Report& report) {
    // A backend without an API runs on the CPU.
    const auto word = api_below(chosen.backend).empty() ? kCpu : std::string_view{chosen.backend};
    const auto as_expected = is_as_expected(seen, word, report);
    if (!as_expected || !*as_expected || word == kCpu || chosen.gpus.empty())
        return as_expected;
    // The API is right; now check that no other GPU was used. A partition counts as its GPU.
    return std::ranges::all_of(gpus_in(seen.devices, report), [&chosen](const DeviceUse& use) {
        return std::ranges::any_of(chosen.gpus,
                                   [&use](const auto& id) { return whole_id(id) == use.device; });
    });
}

std::string doubts_text(const std::set<Doubt>& doubts) {
    std::vector<std::string_view> texts;
    for (const auto& words : kDoubts)
        if (doubts.contains(words.doubt))
            texts.push_back(words.text);
    return fmt::format("{}", fmt::join(texts, "; "));
}

std::string devices_text(const std::vector<DeviceUse>& devices, const Report& report) {
    std::vector<std::string> groups;
    std::vector<std::string> alike;  // devices used through the same APIs; the APIs are named once
    // Consecutive devices that were used through the same APIs form a group.
    for (std::size_t place = 0; place < devices.size(); ++place) {
        const auto& use = devices[place];
        alike.push_back(device_text(use, report));
        if (place + 1 < devices.size() && devices[place + 1].apis == use.apis)
            continue;
        groups.push_back(phrase("{devices}[ through {apis}]", {{"devices", joined_with_and(alike)},
                                                               {"apis", api_labels(use.apis)}}));
        alike.clear();
    }
    return joined_with_and(groups);
}

std::string chosen_text(const ChosenUse& chosen, const Report& report) {
    std::vector<std::string> titles;
    for (const auto& id : chosen.gpus)
        titles.push_back(device_title(id, report));
    return phrase(
        "{backend}[ on {gpus}]",
        {{"backend", scrubbed(chosen.backend, 64)},
         {"gpus", titles.empty() ? std::nullopt : std::optional{joined_with_and(titles)}}});
}

std::string outcome_text(const SeenUse& seen, const ChosenUse& chosen, const Report& report) {
    if (!seen.devices.empty())
        return phrase("used {devices}[, although {chosen} was chosen]",
                      {{"devices", devices_text(seen.devices, report)},
                       {"chosen", contrast(seen, chosen, report)}});
    if (!seen.doubts.empty())
        return phrase("unknown whether a GPU was used: {doubts}",
                      {{"doubts", doubts_text(seen.doubts)}});
    if (api_below(chosen.backend).empty())
        return "used no GPU, as chosen";
    return phrase("used no GPU, although {chosen} was chosen",
                  {{"chosen", scrubbed(chosen.backend, 64)}});
}

Value devices_document(const std::vector<DeviceUse>& devices, const Report& report) {
    Value document{Value::Array{}};
    for (const auto& use : devices) {
        Value entry;
        entry["device"] = use.device;
        entry["name"] = device_title(use.device, report);
        entry["memory"] = to_value(use.memory);
        entry["apis"] = to_value(use.apis);
        entry["processes"] = use.processes;
        document.push_back(std::move(entry));
    }
    return document;
}

Value apis_document(const std::set<Api>& apis) {
    std::vector<std::string> words;
    for (const auto api : apis)
        words.emplace_back(info_of(api).word);
    std::ranges::sort(words);
    return to_value(words);
}

Value doubts_document(const std::set<Doubt>& doubts) {
    Value document{Value::Array{}};
    for (const auto doubt : doubts)
        document.push_back(Value{name_of(doubt)});
    return document;
}

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{5};
/// A program that fails while starting may hold a context for only about 100 ms (CUDA on an H200).
constexpr Duration kStartPause = std::chrono::milliseconds{25};
constexpr Duration kUsualPause = std::chrono::milliseconds{100};
constexpr Duration kCloseWatch = std::chrono::seconds{3};
/// Searching for open devices uses at most 1/kShare of one CPU.
constexpr int kShare = 20;
constexpr Duration kLongestPause = std::chrono::seconds{1};

/// A worker that queries NVML uses about 50 ms of CPU time, so it runs often only while a program
/// starts.
constexpr Duration kFirstAsk = std::chrono::milliseconds{100};
constexpr Duration kUsualAsk = std::chrono::milliseconds{200};
constexpr Duration kLateAsk = std::chrono::seconds{2};
constexpr Duration kStarts = std::chrono::seconds{15};
constexpr Duration kNvmlPatience = std::chrono::seconds{5};
constexpr int kMaxRefusals = 3;

/// The CPU time that this thread has used. Elapsed time would be misleading: on a busy machine a
/// search takes longer but uses the same CPU time.
Duration processor_time() {
    timespec spent = {};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return std::chrono::seconds{spent.tv_sec} +
           std::chrono::duration_cast<Duration>(std::chrono::nanoseconds{spent.tv_nsec});
}

}  // namespace

DeviceWatch::DeviceWatch(EventLoop& loop,
                         const Arguments& arguments,
                         const Report& report,
                         pid_t root,
                         std::string mark,
                         Looked looked)
    : loop_{loop},
      arguments_{arguments},
      looked_{std::move(looked)},
      watcher_{files_, report, root, std::move(mark)},
      began_{clock_.monotonic()},
      pause_{kFirstPause},
      planned_{began_},
      ask_pause_{kFirstAsk} {
    // Start the first search from the loop, so that `looked` is never called during construction.
    timer_ = loop_.defer([this] { look(); });
}

bool DeviceWatch::is_settled() const {
    return !watcher_.wants_nvml() || was_asked_ || refusals_ >= kMaxRefusals;
}

void DeviceWatch::note_delay(MonotonicTime now) {
    constexpr Duration kLate = std::chrono::milliseconds{300};
    was_late_ |= now - planned_ > kLate;
}

void DeviceWatch::stop() {
    timer_.reset();
    note_delay(clock_.monotonic());
}

void DeviceWatch::look() {
    const auto began = processor_time();
    const auto now = clock_.monotonic();
    note_delay(now);
    const auto uses = watcher_.look(now);
    const auto took = processor_time() - began;
    const auto usual = now - began_ < kStarts ? kStartPause : kUsualPause;
    // Double the pause until it reaches the usual pause. If a search is expensive, make the pause
    // longer.
    pause_ = std::min(std::max(std::min(pause_ * 2, usual), took * kShare), kLongestPause);
    // Soon after its start, a program may create a context and end within half a second. The first
    // searches take the longest, because all processes are new.
    if (now - began_ < kCloseWatch)
        pause_ = std::min(pause_, std::max(kStartPause, took));
    // Search often even if each search is expensive: a context that isn't reported yet may soon be
    // closed.
    if (watcher_.may_miss_context())
        pause_ = std::min(pause_, kStartPause);
    planned_ = clock_.monotonic() + pause_;
    timer_ = loop_.after(pause_, [this] { look(); });
    if (watcher_.wants_nvml())
        ask_nvml();
    looked_(uses);
}

void DeviceWatch::ask_nvml() {
    const auto now = clock_.monotonic();
    // Send the query at once if there is a new context, because the context may soon be closed.
    const bool is_due = now >= next_ask_ || watcher_.unreported_since() > last_ask_;
    if (is_asking_ || !is_due || refusals_ >= kMaxRefusals)
        return;
    last_ask_ = now;
    // The first query starts the supervisor of workers. If there is no worker program, give up.
    if (!supervisor_) {
        auto workers = own_workers(arguments_.worker);
        if (!workers) {
            refusals_ = kMaxRefusals;
            return;
        }
        shut_out_workers();
        launcher_ = std::move(*workers);
        ProbeLimits limits;
        limits.query = limits.trial = kNvmlPatience;
        supervisor_ = std::make_unique<Supervisor>(loop_, *launcher_, clock_, limits);
    }
    is_asking_ = true;
    // The answer describes the moment at which the query was sent, which is `now`.
    const ProbeTarget target{.api = std::string{info_of(Api::Nvml).word},
                             .stage = std::string{kProcessesStage}};
    supervisor_->start(target, [this, now](const ProbeResult& answer) {
        is_asking_ = false;
        const bool is_answer = answer.outcome == Outcome::Answered;
        refusals_ = is_answer ? 0 : refusals_ + 1;
        was_asked_ |= is_answer;
        next_ask_ = now + ask_pause_;
        ask_pause_ = std::min(ask_pause_ * 2, now - began_ < kStarts ? kUsualAsk : kLateAsk);
        watcher_.add_nvml(answer, now);
    });
}

namespace {

/// The time between two lines of output.
constexpr Duration kBetween = std::chrono::seconds{1};
/// How long to wait for NVML before the first line is printed.
constexpr Duration kWatchPatience = std::chrono::seconds{5};

/// The first GPU device node that was created after the process started. A process that is older
/// than a node may have searched for GPUs before the driver was loaded, as some services do.
std::optional<std::string> later_node(const Report& report, pid_t pid) {
    const RootedFiles files;
    const auto started = watch::start_of(files, pid, SystemClock{}.wall());
    for (const auto& gpu : report.gpus)
        for (const auto& node : gpu.nodes) {
            const auto status = files.status(node.path);
            if (started && status && status->modified > *started)
                return node.path;
        }
    return std::nullopt;
}

/// The line for users: the devices, "no GPU", or the reason why the use isn't known.
std::string line_of(const SeenUse& seen, const Report& report, pid_t pid) {
    if (!seen.devices.empty())
        return devices_text(seen.devices, report);
    if (!seen.doubts.empty())
        return phrase("unknown: {doubts}", {{"doubts", doubts_text(seen.doubts)}});
    return phrase("no GPU[: the process started before {node} existed, so restart the process]",
                  {{"node", later_node(report, pid)}});
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
    /// The exit code. Errors: NotAuthorized, or NotFound if there is no such process.
    [[nodiscard]] Result<ExitCode> finish() {
        if (is_live_)
            print("\n");
        if (problem_)
            return *problem_;
        return ExitCode::Answered;
    }

private:
    // Called after each search.
    void looked(const std::vector<watch::DeviceUse>& uses) {
        const auto& watcher = watch_.watcher();
        const SeenUse seen{.devices = uses, .doubts = watcher.doubts()};
        if (watcher.running() == 0)
            return ended();
        // The process can't be inspected, and no driver reports that it uses a device.
        if (!watcher.sees_root() && uses.empty() && watch_.is_settled())
            return give_up({ErrorCode::NotAuthorized,
                            fmt::format("watch: you have no permission to inspect process {}; run "
                                        "watch as that process's user or as root",
                                        pid_)});
        const auto now = clock_.monotonic();
        // NVML needs some time. Before NVML has answered, the first line would be incomplete.
        const bool is_ready = watch_.is_settled() || now >= until_;
        if (!is_ready || (printed_at_ && now - *printed_at_ < kBetween))
            return;
        printed_at_ = now;
        show(seen);
        is_done_ = is_once_;
    }

    /// Prints a line; on a terminal the line replaces the previous line.
    void show(const SeenUse& seen) {
        if (context_.wants_json()) {
            print_document(seen);
        } else if (is_once_) {
            print(line_of(seen, report_, pid_) + "\n");
        } else {
            is_live_ = true;
            print("\r\x1b[K" + cut_to(line_of(seen, report_, pid_), context_.screen.columns - 1,
                                      context_.screen.ellipsis()));
        }
        std::fflush(stdout);
    }

    /// Prints a document; in a stream each document is on its own line.
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

    /// Called when the process has ended or does not exist; if it does not exist, nothing was
    /// printed yet.
    void ended() {
        if (!printed_at_)
            return give_up(
                {ErrorCode::NotFound, fmt::format("watch: process {} does not exist", pid_)});
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
    std::optional<MonotonicTime> printed_at_ = {};
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
    // An interrupt is the normal way to end `watch`.
    (void)loop->run_until([&watching] { return watching.is_done(); });
    return watching.finish();
}

Status check_watch(Arguments& arguments) {
    constexpr std::uint64_t kMaxPid = 1U << 22U;  // proc_sys_kernel(5), pid_max
    if (!arguments.run.pid)
        return refusal("watch: missing process id");
    if (*arguments.run.pid == 0 || *arguments.run.pid > kMaxPid)
        return refusal(fmt::format("watch: {} is not a process id", *arguments.run.pid));
    return Done{};
}

}  // namespace

Verb watch_verb() {
    return {
        .name = "watch",
        .group = VerbGroup::Start,
        .overview = {{"watch PID",
                      "show which GPUs and how much GPU memory a running program uses"}},
        .usage = {"watch PID [--once]"},
        .about = R"(
Shows which GPUs the process and its child processes use now, how much GPU memory they use, and
through which API. On a terminal, watch updates its line until the process ends; otherwise, and with
--once, watch prints one line. With -j, watch prints a JSON document instead of each line.

You can inspect your own processes, and root can inspect all processes. Only KFD and NVIDIA's driver
report how other users' processes use GPUs. Missing information is shown as unknown.
)",
        .operands = {{.word = {.name = "PID"}, .take = put<&Arguments::run, &RunArguments::pid>}},
        .options = {{.names = "--once",
                     .help = "check once and exit",
                     .take = put<&Arguments::run, &RunArguments::looks_once>}},
        .check = check_watch,
        .run = run_watch};
}

}  // namespace gpuprobe::inline cli
