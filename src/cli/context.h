// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "cli/arguments.h"
#include "cli/client.h"
#include "explain/screen.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {

/// Everything that a verb needs while it runs. The members are borrowed.
struct Context {
    const Arguments& arguments;
    Screen screen = {};
    Client& client;

    [[nodiscard]] bool wants_json() const { return arguments.json != JsonMode::Off; }
};

/// Exit codes, as listed by `help`.
enum class ExitCode : int {
    Answered = 0,
    Failed = 1,
    Usage = 2,
    NoMatch = 3,
    NoDaemon = 4,
    NotAuthorized = 5,
    Found = 6,  ///< doctor: a problem keeps a GPU from being used
    // The rest is for `run`, which otherwise returns the exit code of its program.
    NotSeen = 123,        ///< could not find out whether --expect was met
    NotAsExpected = 124,  ///< the program succeeded, but --expect was not met
    NotStarted = 125,     ///< we failed before the program was started
    NotExecutable = 126,
    NotThere = 127,
    EndedBySignal = 256,  ///< plus the signal's number: this process ends by that signal too
};

/// Prints to standard output. If the reader has gone away, SIGPIPE ends the program. Characters
/// that must not reach a terminal are replaced, here and below (cli/terminal.h).
void print(std::string_view text);
/// Prints to standard error.
void print_error(std::string_view text);
/// Flushes standard output. Returns `code`, or Failed if the output can't be written (full disk).
ExitCode flushed(ExitCode code);
/// Prints a JSON document, on one line or indented as the arguments say.
void print_json(const Arguments& arguments, const Value& document);
/// Prints a remark, "gpuprobectl: …", to standard error; nothing with --quiet.
void remark(const Arguments& arguments, std::string_view text);
/// Prints each warning as a remark.
void warn(const Arguments& arguments, const std::vector<Reason>& warnings);

}  // namespace gpuprobe::inline cli
