// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/value.h"
#include "cli/arguments.h"
#include "cli/client.h"
#include "explain/doctor.h"
#include "explain/reason_words.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/outcome.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// The properties of the terminal or file behind a descriptor: whether it is a terminal, its width,
/// the locale's character set, and colors. ColourMode::Auto enables colors on a terminal that is
/// not "dumb" if NO_COLOR is unset or empty (no-color.org).
Screen screen_of(int descriptor, ColourMode mode);

/// A progress line on standard error. Each show() overwrites the line, and the line is erased when
/// the work is done. With --quiet, or if standard error isn't a terminal, nothing is printed.
class ProgressLine {
public:
    explicit ProgressLine(const Arguments& arguments);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::string_view what);
    /// Shows `what` and a progress bar. `share` is limited to the range from 0 to 1.
    void show(std::string_view what, double share);
    void clear();

private:
    Screen screen_;
    bool is_wanted_ = false;
    bool is_shown_ = false;
};

/// A progress bar of twenty characters, such as "[===== ]", or with Unicode, "━━━━━╌".
std::string bar(double share, bool is_unicode);

/// Sleeps for the duration `time`. Returns false if SIGINT or SIGTERM interrupted the sleep.
bool sleep_for(std::chrono::milliseconds time);

/// A pager for text that is longer than the terminal: $GPUPROBE_PAGER, $PAGER, or `less` if it is
/// installed. If the value of the variable is "" or "cat", no pager is used.
class Pager {
public:
    Pager() = default;
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    /// Waits until the user has left the pager.
    ~Pager();
    /// Starts the pager and redirects standard output to it. If the pager cannot be started,
    /// standard output isn't redirected.
    void start();

private:
    pid_t pid_ = -1;
};

/// The facts on which fixes depend: the machine, the doctor's findings and this process's account.
/// The facts are read when they are first needed.
class OwnPlace {
public:
    /// `client` must outlive this object.
    explicit OwnPlace(Client& client) : client_{client} {}
    /// The result borrows from this object. If there is no report, the result selects the usual
    /// fixes.
    ReasonPlace get();

private:
    Client& client_;
    bool is_read_ = false;
    std::optional<Report> report_ = {};
    std::vector<Finding> findings_ = {};
};

/// Everything that a verb needs while it runs. The members are borrowed.
struct Context {
    const Arguments& arguments;
    Screen screen = {};
    Client& client;
    /// Replaces a path in the request with the properties of its files (choice.h); null in the
    /// small program, which passes such command lines to gpuprobectl-whole.
    Status (*read_build)(const Arguments& arguments, Value& request) = nullptr;

    [[nodiscard]] bool wants_json() const { return arguments.json != JsonMode::Off; }
    /// Returns the record, with a message added to each reason that has none.
    template <Described T>
    [[nodiscard]] T worded(T record) const {
        OwnPlace place{client};
        ReasonWriter{[&place] { return place.get(); }}.add_to(record);
        return record;
    }
};

/// Exit codes, as listed by `help`.
enum class ExitCode : int {
    Answered = 0,
    Failed = 1,
    Usage = 2,
    NoMatch = 3,
    NoDaemon = 4,
    NotAuthorized = 5,
    Found = 6,  ///< the doctor found a problem that keeps a GPU from being used
    // The following codes are for `run`, which otherwise returns the exit code of its program.
    NotSeen = 123,        ///< it is unknown whether --expect was met
    NotAsExpected = 124,  ///< the program succeeded, but --expect wasn't met
    NotStarted = 125,     ///< an error occurred before the program was started
    NotExecutable = 126,
    NotThere = 127,
    EndedBySignal = 256,  ///< plus a signal's number; this process ends by this signal
};

/// Prints to standard output. If the reader has closed its end of the pipe, SIGPIPE ends the
/// program. This function and the functions below replace characters that could control a terminal.
void print(std::string_view text);
/// Prints to standard error.
void print_error(std::string_view text);
/// Flushes standard output. Returns `code`, or Failed if the output cannot be written, for instance
/// because the disk is full.
ExitCode flushed(ExitCode code);
/// Prints a JSON document, on one line or indented, depending on the arguments.
void print_json(const Arguments& arguments, const Value& document);
/// Prints a remark, "gpuprobectl: …", to standard error. With --quiet, prints nothing.
void remark(const Arguments& arguments, std::string_view text);
/// Prints each warning as a remark.
void warn(const Arguments& arguments, const std::vector<Reason>& warnings);

/// The exit code for an error. Unavailable becomes NoDaemon only if the user named a socket,
/// because otherwise, no daemon is needed.
ExitCode exit_code_of(ErrorCode code, bool daemon_was_named);

/// The document {"error":{"name","message","candidates"}}. The name is the error's D-Bus name, even
/// if no daemon was involved.
Value failure_document(const Error& error, const std::vector<Candidate>& candidates);

/// Reports an error to the user: as a JSON document on standard output, or as a line on standard
/// error. Returns the exit code.
ExitCode report_failure(const Arguments& arguments,
                        const Error& error,
                        const std::vector<Candidate>& candidates = {});

}  // namespace gpuprobe::inline cli
