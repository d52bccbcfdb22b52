// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "cli/complete.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/open_client.h"
#include "cli/pager.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// Those that print what is known, and end.
constexpr auto kReadVerbs = std::to_array<std::string_view>(
    {"status", "list", "show", "describe", "doctor", "select", "recommend", "plan", "env", "help"});

bool wants_pager(const Arguments& arguments, const std::vector<std::string>& words) {
    return arguments.json == JsonMode::Off && !arguments.fleet.every &&
           ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1 &&
           std::ranges::find(kReadVerbs, arguments.verb) != kReadVerbs.end() &&
           std::ranges::find(words, "--no-pager") == words.end();
}

Result<ExitCode> run_verb(const Arguments& arguments, Screen screen) {
    const auto& verb = *find_verb(arguments.verb);
    if (verb.run_alone)
        return verb.run_alone(arguments);
    const auto client = TRY(open_client(arguments));
    screen.has_legend = arguments.has_legend;
    Context context{.arguments = arguments, .screen = screen, .client = *client};
    return verb.run(context);
}

/// Of a command line that could not be read as a whole.
bool asks_for_json(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "-j" || word == "--json=short" || word == "--json=pretty";
    });
}

ExitCode refuse(const Refusal& refusal, const std::vector<std::string>& words) {
    if (refusal.is_help) {
        print(narrowed(refusal.text, screen_of(STDOUT_FILENO, ColourMode::Never).columns));
        return ExitCode::Answered;
    }
    std::fwrite(refusal.text.data(), 1, refusal.text.size(), stderr);
    constexpr std::string_view kLead = "gpuprobectl: ";
    const auto line = refusal.text.substr(0, refusal.text.find('\n'));
    const Error error{ErrorCode::InvalidRequest, line.substr(kLead.size())};
    if (asks_for_json(words))
        print_json(Arguments{.json = JsonMode::Short}, failure_document(error, {}));
    return ExitCode::Usage;
}

/// A shell's number for it, where the signal does not end us.
int ended_by(int signal) {
    die_by(signal);
    return 128 + signal;
}

/// What is still buffered has to arrive: a full disk is a failure. (A reader that is gone has
/// already ended the process by SIGPIPE.)
int flushed(ExitCode code) {
    if (std::fflush(stdout) == 0) {
        if (code > ExitCode::EndedBySignal)
            return ended_by(static_cast<int>(code) - static_cast<int>(ExitCode::EndedBySignal));
        return static_cast<int>(code);
    }
    std::perror("gpuprobectl: standard output");
    return static_cast<int>(ExitCode::Failed);
}

}  // namespace

int run(const std::vector<std::string>& words) {
    if (!words.empty() && words.front() == "complete")  // words that need not make sense yet
        return complete({words.begin() + 1, words.end()});
    if (words == std::vector<std::string>{"manual"}) {  // for the man page, at build time
        print(manual());
        return flushed(ExitCode::Answered);
    }
    const auto parsed = parse_arguments(words, ::isatty(STDOUT_FILENO) == 1);
    if (parsed.refusal)
        return flushed(refuse(*parsed.refusal, words));
    const auto& arguments = *parsed.arguments;
    const auto screen = screen_of(STDOUT_FILENO, arguments.colour);
    Pager pager;
    if (wants_pager(arguments, words))
        pager.start();
    for (;;) {
        const auto done = run_verb(arguments, screen);
        const int code = flushed(done ? *done : report_failure(arguments, done.error()));
        if (!arguments.fleet.every)
            return code;
        if (!sleep_for(std::chrono::seconds{*arguments.fleet.every}))
            return static_cast<int>(ExitCode::Answered);
    }
}

}  // namespace gpuprobe::inline cli
