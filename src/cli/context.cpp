// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "cli/arguments.h"
#include "explain/explain.h"

namespace gpuprobe::inline cli {
namespace {

// Limits for the width that a terminal or $COLUMNS reports.
constexpr std::size_t kMinColumns = 40;
constexpr std::size_t kMaxColumns = 1000;

/// The value of an environment variable, or "".
std::string_view variable(const char* name) {
    const char* text = std::getenv(name);
    return text ? text : "";
}

/// The width of the terminal: $COLUMNS, or else the width that the terminal reports, or else 80.
std::size_t terminal_columns(int descriptor) {
    winsize size{};
    std::size_t columns = 80;
    if (const auto asked = parse_number<std::size_t>(variable("COLUMNS")))
        columns = *asked;
    else if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    return std::clamp(columns, kMinColumns, kMaxColumns);
}

constexpr int kBarPlaces = 20;

/// The escape sequence that moves the cursor to the start of the line and erases the line.
constexpr std::string_view kClearLine = "\r\x1b[K";
/// The escape sequences of toned() and of ProgressLine.
constexpr auto kOwnSequences = std::to_array<std::string_view>(
    {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", kClearLine});

/// Prints to standard error and flushes, without waiting for a line break.
void write_line(const std::string& text) {
    print_error(text);
    std::fflush(stderr);
}

/// The shell command that starts the pager; "" for no pager.
std::string pager_command() {
    for (const char* name : {"GPUPROBE_PAGER", "PAGER"})
        if (const char* set = std::getenv(name))
            return std::string_view{set} == "cat" ? "" : set;
    for (const char* path : {"/usr/bin/less", "/bin/less"})
        if (::access(path, X_OK) == 0)
            return path;
    return "";
}

/// Runs in the child process, which becomes the pager. As in systemctl, the variable LESS makes
/// `less` quit if the text fits on one screen, keep colors, and leave the text on the screen.
[[noreturn]] void become_pager(const std::string& command, int input) {
    ::dup2(input, STDIN_FILENO);
    ::setenv("LESS", "FRSXMK", 0);
    ::setenv("LESSCHARSET", "utf-8", 0);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
}

/// Replaces characters that could control a terminal. Printable characters (base/text.h), line
/// feeds, tabs, and the escape sequences that this program itself writes are kept. All text output
/// passes through this function.
std::string terminal_text(std::string_view text) {
    constexpr std::string_view kKept = "\n\t";
    std::string shown;
    while (!text.empty()) {
        // Copy up to the next escape or carriage return, the only characters that our own sequences
        // start with.
        const auto end = std::min(text.find_first_of("\x1b\r"), text.size());
        shown += printable(text.substr(0, end), kKept);
        text.remove_prefix(end);
        const auto* own = std::ranges::find_if(
            kOwnSequences, [text](std::string_view each) { return text.starts_with(each); });
        if (own != kOwnSequences.end()) {
            shown += *own;
            text.remove_prefix(own->size());
            // The text does not start with one of our sequences. Replace the first character, so
            // that the rest is plain text.
        } else if (!text.empty()) {
            shown += printable(text.substr(0, 1));
            text.remove_prefix(1);
        }
    }
    return shown;
}

}  // namespace

Screen screen_of(int descriptor, ColourMode mode) {
    Screen screen;
    screen.is_terminal = ::isatty(descriptor) == 1;
    screen.columns = screen.is_terminal ? terminal_columns(descriptor) : 0;
    screen.is_unicode = std::string_view{::nl_langinfo(CODESET)} == "UTF-8";
    const bool may_colour =
        screen.is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
    screen.is_coloured = mode == ColourMode::Always || (mode == ColourMode::Auto && may_colour);
    return screen;
}

std::string bar(double share, bool is_unicode) {
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarPlaces);
    std::string places;
    for (int i = 0; i < kBarPlaces; ++i)
        places += i < full ? (is_unicode ? "━" : "=") : (is_unicode ? "╌" : " ");
    return is_unicode ? places : "[" + places + "]";
}

ProgressLine::ProgressLine(const Arguments& arguments)
    : screen_{screen_of(STDERR_FILENO, arguments.colour)},
      is_wanted_{screen_.is_terminal && !arguments.is_quiet} {}

ProgressLine::~ProgressLine() {
    clear();
}

void ProgressLine::show(std::string_view what) {
    if (!is_wanted_)
        return;
    is_shown_ = true;
    write_line(fmt::format("{}{}{}", kClearLine, what, screen_.ellipsis()));
}

void ProgressLine::show(std::string_view what, double share) {
    if (!is_wanted_)
        return;
    is_shown_ = true;
    write_line(fmt::format("{}{} {} {:3.0f} %", kClearLine, what, bar(share, screen_.is_unicode),
                           std::clamp(share, 0.0, 1.0) * 100));
}

void ProgressLine::clear() {
    if (is_shown_)
        write_line(std::string{kClearLine});
    is_shown_ = false;
}

bool sleep_for(std::chrono::milliseconds time) {
    // Block the signals first: otherwise a signal that arrives just before the wait would be lost.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigset_t before;
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    const timespec limit = {.tv_sec = time.count() / 1000,
                            .tv_nsec = time.count() % 1000 * 1'000'000};
    int signal = -1;
    do {
        signal = ::sigtimedwait(&signals, nullptr, &limit);
    } while (signal < 0 && errno == EINTR);
    (void)sigprocmask(SIG_SETMASK, &before, nullptr);
    return signal < 0;
}

void Pager::start() {
    const auto command = pager_command();
    std::array<int, 2> ends{};
    if (command.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0)
        return;
    std::fflush(stdout);
    pid_ = ::fork();
    // The child reads from the pipe, and the parent's standard output is redirected into the pipe.
    if (pid_ == 0)
        become_pager(command, ends[0]);
    if (pid_ > 0)
        ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
}

Pager::~Pager() {
    if (pid_ <= 0)
        return;
    // Ignore Ctrl-C: it is meant for the pager. This process ends when the pager ends.
    (void)std::signal(SIGINT, SIG_IGN);
    std::fflush(stdout);
    // The pager reaches the end of its input only when all descriptors of the pipe are closed.
    ::close(STDOUT_FILENO);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void print(std::string_view text) {
    const auto shown = terminal_text(text);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void print_error(std::string_view text) {
    const auto shown = terminal_text(text);
    std::fwrite(shown.data(), 1, shown.size(), stderr);
}

/// If a reader has closed the pipe, nothing needs to be done here, because SIGPIPE has already
/// ended this process.
ExitCode flushed(ExitCode code) {
    if (std::fflush(stdout) == 0)
        return code;
    std::perror("gpuprobectl: standard output");
    return ExitCode::Failed;
}

void print_json(const Arguments& arguments, const Value& document) {
    if (arguments.json == JsonMode::Short)
        print(json_line(document) + "\n");
    else
        print(json_pretty(document));
}

void remark(const Arguments& arguments, std::string_view text) {
    if (arguments.is_quiet)
        return;
    print_error("gpuprobectl: " + std::string{text} + "\n");
}

void warn(const Arguments& arguments, const std::vector<Reason>& warnings) {
    for (const auto& warning : warnings)
        remark(arguments, "warning: " + explained(warning).text);
}

namespace {

// Messages may contain text from drivers and files.
constexpr std::size_t kMaxMessage = 4096;

}  // namespace

ReasonPlace OwnPlace::get() {
    if (!std::exchange(is_read_, true))
        if (auto report = client_.report()) {
            report_ = std::move(*report);
            findings_ = own_findings(*report_);
        }
    return report_ ? own_place(*report_, findings_) : ReasonPlace{};
}

ExitCode exit_code_of(ErrorCode code, bool daemon_was_named) {
    switch (code) {
        case ErrorCode::InvalidRequest:
            return ExitCode::Usage;
        case ErrorCode::NoMatch:
            return ExitCode::NoMatch;
        case ErrorCode::NotAuthorized:
            return ExitCode::NotAuthorized;
        case ErrorCode::Unavailable:
            return daemon_was_named ? ExitCode::NoDaemon : ExitCode::Failed;
        default:
            return ExitCode::Failed;
    }
}

Value failure_document(const Error& error, const std::vector<Candidate>& candidates) {
    auto failure = failure_of(error);
    failure.candidates = candidates;
    Value document{Value::Object{}};
    document["error"] = to_value(failure);
    return document;
}

ExitCode report_failure(const Arguments& arguments,
                        const Error& error,
                        const std::vector<Candidate>& candidates) {
    if (arguments.json != JsonMode::Off) {
        print_json(arguments, failure_document(error, candidates));
    } else {
        print_error("gpuprobectl: " + scrubbed(error.text, kMaxMessage) + "\n");
    }
    return exit_code_of(error.code, arguments.socket.has_value());
}

}  // namespace gpuprobe::inline cli
