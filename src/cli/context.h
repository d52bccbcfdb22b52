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

/// What a verb works with, borrowed for one run of it.
struct Context {
    const Arguments& arguments;
    Screen screen = {};
    Client& client;

    [[nodiscard]] bool wants_json() const { return arguments.json != JsonMode::Off; }
};

/// Exit codes, as `help` lists them.
enum class ExitCode : int {
    Answered = 0,
    Failed = 1,
    Usage = 2,
    NoMatch = 3,
    NoDaemon = 4,
    NotAuthorized = 5,
    Found = 6,  ///< doctor: something keeps a GPU from being used
    // Of `run`, whose other codes are its program's.
    NotSeen = 123,        ///< what was expected could not be seen
    NotAsExpected = 124,  ///< the program ended well, and did not take what was expected
    NotStarted = 125,     ///< our failure, before the program
    NotExecutable = 126,
    NotThere = 127,
    EndedBySignal = 256,  ///< and its number: this process ends by it too
};

/// To standard output. A reader that went away ends the program quietly, as SIGPIPE would.
/// Characters that a terminal must not get are replaced, here and below (cli/terminal.h).
void print(std::string_view text);
/// To standard error.
void print_error(std::string_view text);
/// Lets what was printed arrive, and returns that code, or Failed where it can't: on a full disk.
ExitCode flushed(ExitCode code);
/// One document, in the form the arguments ask for.
void print_json(const Arguments& arguments, const Value& document);
/// A remark on standard error, "gpuprobectl: …"; nothing with --quiet or with JSON on a pipe.
void remark(const Arguments& arguments, std::string_view text);
/// The same of each warning.
void warn(const Arguments& arguments, const std::vector<Reason>& warnings);

}  // namespace gpuprobe::inline cli
