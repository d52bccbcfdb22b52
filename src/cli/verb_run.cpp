// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "base/process.h"
#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "cli/choice.h"
#include "cli/context.h"
#include "cli/device_use.h"
#include "cli/program.h"
#include "cli/verb.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "report/api_table.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {
namespace {

/// A program that fails within this time is considered to have failed to start.
constexpr Duration kStart = std::chrono::minutes{1};
/// If the program is still running this long after its first use of a GPU, the use is reported at
/// once instead of at the end.
constexpr Duration kReportsAfter = std::chrono::seconds{10};
/// How long to wait for an NVML query that was running when the program ended.
constexpr Duration kLastAnswer = std::chrono::seconds{1};

/// Signals caused by faults in the program. Signals that aren't in this list come from other
/// processes.
constexpr std::array kFaults = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
/// Signals that ask a program to end.
constexpr std::array kRequests = {SIGINT, SIGTERM, SIGHUP};

/// An attempt to run the program with one choice, and its result.
struct Attempt {
    ChosenUse chosen = {};
    std::map<std::string, std::string> environment = {};
    ProgramEnd end = {};
    Duration lasted = {};
    SeenUse seen = {};
    std::optional<bool> as_chosen = {};
    bool has_failed = false;
    std::optional<std::string> reported = {};  ///< "ok" or "failed", if reported
};

/// All attempts of a command line.
struct Run {
    Context& context;
    Decision decision = {};
    Report report = {};
    /// The exit statuses that mean a failed backend, from the application's profile.
    std::vector<int> failed_statuses = {};
    std::vector<Attempt> attempts = {};
    std::optional<std::string> not_reported = {};  ///< reason why reporting the outcome failed
};

/// Describes an attempt, for the report of --output and -j.
Value document_of(const Attempt& attempt, const Report& report) {
    Value document;
    document["backend"] = attempt.chosen.backend;
    document["gpus"] = to_value(attempt.chosen.gpus);
    document["environment"] = to_value(attempt.environment);
    document["status"] = to_value(attempt.end.status);
    const auto& signal = attempt.end.signal;
    document["signal"] = signal ? Value{signal_name(*signal)} : Value{};
    document["lasted_usec"] = to_value(attempt.lasted);
    document["took"] = devices_document(attempt.seen.devices, report);
    document["loaded"] = apis_document(attempt.seen.loaded);
    document["doubts"] = doubts_document(attempt.seen.doubts);
    document["as_chosen"] = to_value(attempt.as_chosen);
    document["failed"] = attempt.has_failed;
    document["reported"] = to_value(attempt.reported);
    return document;
}

/// Whether the last attempt met --expect; nullopt if that is unknown or if --expect wasn't given.
std::optional<bool> as_expected(const Run& run) {
    const auto& word = run.context.arguments.run.expect;
    return word ? is_as_expected(run.attempts.back().seen, *word, run.report) : std::nullopt;
}

/// The report on all attempts.
Value document_of(const Run& run) {
    const auto& arguments = run.context.arguments.run;
    Value document;
    document["application"] = run.decision.application;
    document["program"] = scrubbed(arguments.program.front());
    document["expected"] = to_value(arguments.expect);
    document["as_expected"] = to_value(as_expected(run));
    Value attempts{Value::Array{}};
    for (const auto& attempt : run.attempts)
        attempts.push_back(document_of(attempt, run.report));
    document["attempts"] = std::move(attempts);
    document["not_reported"] = to_value(run.not_reported);
    return document;
}

/// Prints a line on standard error, because standard output belongs to the program.
void print_line(const Context& context, const std::string& text, Tone tone) {
    if (context.arguments.is_quiet || context.arguments.run.wants_json)
        return;
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    print_error("gpuprobectl: " + toned(screen, tone, text) + "\n");
}

Tone tone_of(const Attempt& attempt) {
    if (!attempt.as_chosen)
        return Tone::Unsure;
    return *attempt.as_chosen ? Tone::Good : Tone::Bad;
}

/// Describes how an attempt ended. `chosen` and `next` are used if another attempt follows;
/// `outcome` describes the use of devices.
std::string end_text(const Attempt& attempt,
                     const std::optional<std::string>& chosen,
                     const std::optional<std::string>& next,
                     const std::optional<std::string>& outcome) {
    const auto sentence =
        attempt.end.signal
            ? "[{chosen} ]was ended by {signal} after {time}[; trying {next}][; {outcome}]"
            : "[{chosen} ]ended with status {status} after {time}[; trying {next}][; {outcome}]";
    return phrase(sentence, {{"chosen", chosen},
                             {"signal", signal_name(attempt.end.signal.value_or(0))},
                             {"status", std::to_string(attempt.end.status.value_or(0))},
                             {"time", duration_text(attempt.lasted, "u")},
                             {"next", next},
                             {"outcome", outcome}});
}

/// Whether the attempt failed soon after its start, with a status or signal that the backend may
/// have caused.
bool has_failed(const Attempt& attempt, const std::vector<int>& statuses) {
    if (attempt.lasted >= kStart)
        return false;
    if (attempt.end.signal)
        return std::ranges::find(kFaults, *attempt.end.signal) != kFaults.end();
    return std::ranges::find(statuses, attempt.end.status.value_or(0)) != statuses.end();
}

/// A unique value for the variable that identifies the program's descendants
/// (watch::ProcessTree).
std::string new_mark() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return fmt::format("{}-{}", ::getpid(), now.count());
}

/// Runs the program once and watches it until it has ended. If the program runs for a long time,
/// its use of devices is printed during the run, and `is_reported` becomes true. Errors: the same
/// as for Program::start().
Status attempt_once(const Run& run, Attempt& attempt, bool& is_reported) {
    constexpr const char* kMark = "GPUPROBE_RUN";
    const auto& arguments = run.context.arguments;
    const SystemClock clock;
    const auto loop = TRY(SystemLoop::create());
    auto variables = attempt.environment;
    const auto mark = variables[kMark] = new_mark();
    std::optional<ProgramEnd> end;
    const auto began = clock.monotonic();
    const auto program = TRY(Program::start(*loop, arguments.run.program, variables,
                                            [&end](ProgramEnd how) { end = how; }));
    // Called after each search of the processes. `since` is the time when a device was first used.
    std::optional<MonotonicTime> since;
    std::unique_ptr<DeviceWatch> watch;
    const auto look_at_it = [&] {
        const auto& watcher = watch->watcher();
        attempt.seen = {
            .devices = watcher.most(), .doubts = watcher.doubts(), .loaded = watcher.loaded()};
        attempt.as_chosen = is_as_chosen(attempt.seen, attempt.chosen, run.report);
    };
    const auto looked = [&](const std::vector<watch::DeviceUse>& uses) {
        if (!uses.empty() && !since)
            since = clock.monotonic();
        if (is_reported || !since || clock.monotonic() - *since < kReportsAfter)
            return;
        is_reported = true;
        look_at_it();
        print_line(run.context, outcome_text(attempt.seen, attempt.chosen, run.report),
                   tone_of(attempt));
    };
    // Phase 1: run the loop until the program has ended.
    watch = std::make_unique<DeviceWatch>(*loop, arguments, run.report, program->pid(),
                                          fmt::format("{}={}", kMark, mark), looked);
    TRY(loop->run_until([&end] { return end.has_value(); }));
    attempt.end = *end;
    const auto ended = clock.monotonic();
    attempt.lasted = ended - began;
    // Phase 2: an NVML query that is still running may report a short-lived context.
    watch->stop();
    // The timer only wakes the loop at the deadline.
    const auto patience = loop->after(kLastAnswer, [] {});
    const auto deadline = clock.monotonic() + kLastAnswer;
    TRY(loop->run_until([&] { return !watch->is_asking() || clock.monotonic() >= deadline; }));
    watch->watcher().finish(ended, watch->was_late());
    look_at_it();
    attempt.has_failed = has_failed(attempt, run.failed_statuses);
    return Done{};
}

/// The attempts to make: the choice and, with --fallback, the other accepted candidates in order of
/// preference.
std::vector<Attempt> ways_of(const Run& run) {
    const auto& decision = run.decision;
    std::vector<Attempt> ways{
        {.chosen = {.backend = decision.backend.value_or(std::string{kCpu}), .gpus = decision.gpus},
         .environment = decision.environment}};
    if (!run.context.arguments.run.falls_back)
        return ways;
    for (const auto& candidate : separate_candidates(decision.candidates)) {
        ChosenUse chosen{.backend = candidate.backend};
        if (candidate.gpu)
            chosen.gpus.push_back(*candidate.gpu);
        // A candidate that the choice already includes isn't tried again.
        const bool is_tried = std::ranges::any_of(ways, [&chosen](const Attempt& way) {
            const bool has_gpu =
                chosen.gpus.empty() || contains(way.chosen.gpus, chosen.gpus.front());
            return way.chosen.backend == chosen.backend && has_gpu;
        });
        if (is_usable(candidate.verdict) && !is_tried)
            ways.push_back({.chosen = std::move(chosen), .environment = candidate.environment});
    }
    return ways;
}

/// The outcome to report for an attempt, either "ok" or "failed", or nullopt if the attempt proves
/// nothing.
std::optional<std::string> outcome_of(const Run& run, const Attempt& attempt) {
    const bool is_last = &attempt == &run.attempts.back();
    const bool took_it = attempt.as_chosen == true;
    // If every attempt fails, assume that the program is at fault, unless the program was seen to
    // use the GPU.
    if (attempt.has_failed)
        return took_it || !run.attempts.back().has_failed ? std::optional{"failed"} : std::nullopt;
    // A program that did not load the API's library has not tried to use the backend.
    const auto& expect = run.context.arguments.run.expect;
    const auto api = api_of_backend(attempt.chosen.backend);
    const bool has_tried = api && attempt.seen.loaded.contains(*api);
    if (is_last && expect && is_same_api(*expect, attempt.chosen.backend) && has_tried &&
        as_expected(run) == false)
        return "failed";
    // A success is reported only for a normal end: status 0, a request to end, or a long run.
    const bool was_asked_to_end =
        attempt.end.signal && std::ranges::find(kRequests, *attempt.end.signal) != kRequests.end();
    const bool went_well = attempt.end.status == 0 || was_asked_to_end || attempt.lasted >= kStart;
    return took_it && went_well ? std::optional{"ok"} : std::nullopt;
}

/// Reports the outcome to the client that made the choice, as report-outcome does. After the first
/// error in reporting, no further outcomes are reported.
void report(Run& run, Attempt& attempt) {
    const auto outcome = outcome_of(run, attempt);
    // A choice without an API uses the CPU, and outcomes on the CPU aren't recorded.
    if (!outcome || api_below(attempt.chosen.backend).empty() || run.not_reported)
        return;
    Value document;
    document["application"] = run.decision.application;
    document["outcome"] = *outcome;
    document["backend"] = attempt.chosen.backend;
    if (attempt.chosen.gpus.size() == 1)
        document["gpu"] = attempt.chosen.gpus.front();
    if (*outcome == "failed")
        document["detail"] = end_text(attempt, std::nullopt, std::nullopt,
                                      outcome_text(attempt.seen, attempt.chosen, run.report));
    if (const auto done = run.context.client.ask("ReportOutcome", document); done)
        attempt.reported = outcome;
    else
        run.not_reported = scrubbed(done.error().text);
}

/// Writes the report to standard error, to a file, or both.
Status write_report(const Run& run) {
    const auto& arguments = run.context.arguments.run;
    const auto document = document_of(run);
    if (arguments.wants_json)
        print_error(json_line(document) + "\n");
    if (arguments.report)
        return write_atomically(*arguments.report, json_pretty(document));
    return Done{};
}

/// The program's exit status or signal. If the program succeeded, --expect may change the status.
ExitCode exit_code_of(const Run& run) {
    const auto& end = run.attempts.back().end;
    if (end.signal)
        return static_cast<ExitCode>(static_cast<int>(ExitCode::EndedBySignal) + *end.signal);
    if (end.status != 0 || !run.context.arguments.run.expect)
        return static_cast<ExitCode>(end.status.value_or(0));
    const auto expected = as_expected(run);
    if (!expected)
        return ExitCode::NotSeen;
    return *expected ? ExitCode::Answered : ExitCode::NotAsExpected;
}

void print_problem(const Error& error) {
    print_error("gpuprobectl: " + scrubbed(error.text, 4096) + "\n");
}

/// The exit code that shells use for a program that could not be run.
ExitCode print_not_run(const Error& error) {
    print_problem(error);
    return error.code == ErrorCode::NotFound ? ExitCode::NotThere : ExitCode::NotExecutable;
}

/// Makes attempts until one does not fail, reports their outcomes, and returns the exit code.
Result<ExitCode> run_ways(Run& run) {
    const auto ways = ways_of(run);
    for (std::size_t place = 0; place < ways.size(); ++place) {
        auto& attempt = run.attempts.emplace_back(ways[place]);
        bool is_reported = false;
        if (const auto done = attempt_once(run, attempt, is_reported); !done)
            return print_not_run(done.error());
        if (!attempt.has_failed || place + 1 == ways.size()) {
            if (!is_reported)
                print_line(run.context, outcome_text(attempt.seen, attempt.chosen, run.report),
                           tone_of(attempt));
            break;
        }
        print_line(run.context,
                   end_text(attempt, chosen_text(attempt.chosen, run.report),
                            chosen_text(ways[place + 1].chosen, run.report), std::nullopt),
                   Tone::Unsure);
    }
    // Report the outcomes only now, because whether a failure counts depends on the later attempts.
    for (auto& attempt : run.attempts)
        report(run, attempt);
    if (const auto written = write_report(run); !written)
        print_problem(written.error());
    return exit_code_of(run);
}

/// The warnings that the program can't print itself: the choice is based on outdated data, or the
/// program also sees GPUs that weren't chosen.
std::vector<Reason> warnings_before(const Decision& decision) {
    auto warnings = stale_among(decision.warnings);
    std::ranges::copy_if(decision.warnings, std::back_inserter(warnings),
                         [](const Reason& warning) {
                             return warning.is("not-told-apart") || warning.is("not-hidden") ||
                                    warning.is("superseded-document");
                         });
    return warnings;
}

/// Makes the choice, then runs the program. Returns NotStarted if no candidate matches.
Result<ExitCode> choose_and_run(Context& context) {
    const auto& arguments = context.arguments;
    auto decision = TRY(choose(context, arguments.run.falls_back));
    if (!decision.backend && !wants_no_gpu(arguments)) {
        (void)report_no_match(context, decision);
        return ExitCode::NotStarted;
    }
    warn(arguments, warnings_before(decision));
    Run run{.context = context,
            .decision = std::move(decision),
            .report = TRY(context.client.report())};
    const auto known = known_applications(arguments);
    if (const auto* profile = known.selection(arguments.select.application))
        run.failed_statuses = profile->failed_statuses;
    return run_ways(run);
}

/// Turns our own errors into an exit code that few programs use.
Result<ExitCode> run_program(Context& context) {
    const auto code = choose_and_run(context);
    if (code)
        return *code;
    print_problem(code.error());
    return ExitCode::NotStarted;
}

/// The APIs that --expect accepts, as the string "cuda, hip, level_zero, vulkan, opencl".
std::string expectable_words() {
    std::vector<std::string> words;
    for (const auto& api : kApis)
        if (computes(api))
            words.emplace_back(api.word);
    return base::joined(words, ", ");
}

Status check_program(Arguments& arguments) {
    auto& run = arguments.run;
    if (run.program.empty() || run.program.front().empty())
        return refusal(
            "run: missing PROGRAM\nWrite the program after two dashes: gpuprobectl run APPLICATION "
            "-- PROGRAM ARGUMENTS…");
    if (run.expect && !is_expectable(*run.expect))
        return refusal(fmt::format(
            "--expect: '{}' is not an API that can compute\nUse {} or a backend; cpu means no GPU.",
            scrubbed(*run.expect, 64), expectable_words()));
    run.wants_json = arguments.json != JsonMode::Off;
    // Print errors as text on standard error. With JSON, error messages would go to standard
    // output, which belongs to the program.
    arguments.json = JsonMode::Off;
    return Done{};
}

/// The options of a choice that make sense for running a program. Options for other or imaginary
/// machines, and options for showing the answer, are left out.
std::vector<Option> options_of_a_start() {
    constexpr std::array<std::string_view, 5> kOthers = {"platform", "fake", "forbid-fake",
                                                         "explain", "include-rejected"};
    auto options = choice_options();
    std::erase_if(options, [&kOthers](const Option& option) {
        return std::ranges::find(kOthers, option.key->key) != kOthers.end();
    });
    return options;
}

}  // namespace

Verb run_verb() {
    return {
        .name = "run",
        .group = VerbGroup::Start,
        .overview = {{"run APPLICATION -- …",
                      "start a program with the chosen GPU, and report its GPU use"}},
        .usage = {"run [APPLICATION] [OPTION…] -- PROGRAM [ARGUMENT…]"},
        .about = R"(
Starts PROGRAM, without a shell, with the environment that 'env APPLICATION' prints, and observes which
GPU and how much GPU memory the program and its child processes use, and through which API. When the
program has ended, or ten seconds after it first used a GPU, run prints one line on standard error:

  gpuprobectl: used NVIDIA H200, 18.2 GiB through CUDA
  gpuprobectl: used no GPU, although cuda was chosen

The program inherits standard input, output and error, and run passes signals on to the program. The
exit status of run is the exit status of the program; if a signal ended the program, run ends with the
same signal. The exit status is 127 if PROGRAM is not found, 126 if PROGRAM cannot be run, 125 if no
candidate could be chosen, 124 if the program succeeded but did not use the API that --expect names, and
123 if it is unknown which API the program used.

The reported memory is the largest amount that was in use at one moment. run sets the variable
GPUPROBE_RUN and finds child processes by this variable. run records the outcome of the choice as
report-outcome does: as a success, or as a failure if another candidate worked or the GPU was in use.
)",
        .operands = {{.word = {.name = "APPLICATION", .names = kApplications},
                      .take = take_application}},
        .options = joined(
            {{.names = "--expect",
              .value = {.name = "API", .offers = kBackendWords},
              .help = "fail unless the program uses this API: cuda, vulkan …; cpu means no GPU",
              .take = put<&Arguments::run, &RunArguments::expect>},
             {.names = "--fallback",
              .help =
                  "try the next accepted candidate if the program crashes or fails within a minute",
              .take = put<&Arguments::run, &RunArguments::falls_back>},
             {.names = "--output",
              .value = {.name = "FILE", .names = kFiles},
              .help = "write the observed GPU use to a file as JSON; -j writes the JSON to "
                      "standard error",
              .take = put<&Arguments::run, &RunArguments::report>}},
            options_of_a_start()),
        .takes_program = true,
        .check = check_program,
        .run = run_program};
}

}  // namespace gpuprobe::inline cli
