// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include <signal.h>
#include <unistd.h>

#include "cli/complete.h"
#include "cli/failure.h"
#include "cli/manual.h"
#include "cli/open_client.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// False when somebody interrupted it.
bool sleep_for(std::chrono::seconds time) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, nullptr);
    const timespec limit = {.tv_sec = time.count(), .tv_nsec = 0};
    int signal = -1;
    do {
        signal = ::sigtimedwait(&signals, nullptr, &limit);
    } while (signal < 0 && errno == EINTR);
    return signal < 0;
}

Result<ExitCode> run_verb(const Arguments& arguments) {
    const auto& verb = *find_verb(arguments.verb);
    if (verb.run_alone)
        return verb.run_alone(arguments);
    const auto client = TRY(open_client(arguments));
    auto screen = screen_of(STDOUT_FILENO, arguments.colour);
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
    std::fwrite(refusal.text.data(), 1, refusal.text.size(), refusal.is_help ? stdout : stderr);
    if (refusal.is_help)
        return ExitCode::Answered;
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
    for (;;) {
        const auto done = run_verb(arguments);
        const int code = flushed(done ? *done : report_failure(arguments, done.error()));
        if (!arguments.fleet.every)
            return code;
        if (!sleep_for(std::chrono::seconds{*arguments.fleet.every}))
            return static_cast<int>(ExitCode::Answered);
    }
}

}  // namespace gpuprobe::inline cli
