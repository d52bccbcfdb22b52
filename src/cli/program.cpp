// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "probe/spawn.h"

namespace gpuprobe::inline cli {
namespace {

/// Signals that users and service managers send to a program. watched_signals() adds SIGCHLD.
constexpr std::array kPassedOn = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
/// Signals that this process blocks or ignores (base/event_loop.h, probe/spawn.h), but that the
/// program should not block or ignore.
constexpr std::array kBlockedByUs = {SIGINT, SIGTERM, SIGHUP};
constexpr std::array kIgnoredByUs = {SIGIO, SIGURG};

sigset_t watched_signals() {
    sigset_t all;
    ::sigemptyset(&all);
    for (const int signal : kPassedOn)
        ::sigaddset(&all, signal);
    ::sigaddset(&all, SIGCHLD);
    return all;
}

/// Our environment with some variables added or replaced.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
    std::vector<std::string> variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        if (!more.contains(std::string{text.substr(0, text.find('='))}))
            variables.emplace_back(text);
    }
    for (const auto& [name, value] : more)
        variables.push_back(name + "=" + value);
    return variables;
}

/// A null-terminated array for execve(), whose pointers point into `texts`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const auto& text : texts)
        pointers.push_back(const_cast<char*>(text.c_str()));  // execve() does not change the string
    pointers.push_back(nullptr);
    return pointers;
}

/// Runs in the child and must not allocate memory. Restores signals, executes the program, and
/// writes errno to `report` if that fails.
[[noreturn]] void become(char* const* words, char* const* variables, sigset_t mask, int report) {
    for (const int signal : kIgnoredByUs)
        (void)::signal(signal, SIG_DFL);
    for (const int signal : kBlockedByUs)
        ::sigdelset(&mask, signal);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(words[0], words, variables);
    const int problem = errno;
    (void)!::write(report, &problem, sizeof problem);
    ::_exit(EXIT_FAILURE);
}

}  // namespace

Program::Program(pid_t pid, UniqueFd signals, sigset_t before, Ended ended)
    : pid_{pid}, signals_{std::move(signals)}, before_{before}, ended_{std::move(ended)} {}

Program::~Program() {
    watch_.reset();
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<std::unique_ptr<Program>> Program::start(EventLoop& loop,
                                                const std::vector<std::string>& words,
                                                const std::map<std::string, std::string>& more,
                                                Ended ended) {
    const auto variables = environment_with(more);
    const auto word_pointers = pointers_to(words);
    const auto variable_pointers = pointers_to(variables);
    auto report = TRY(Pipe::create());
    const auto watched = watched_signals();
    // Block the signals before fork(), so that none is lost between fork() and signalfd.
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &watched, &before);
    UniqueFd signals{::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK)};
    const pid_t pid = signals ? ::fork() : -1;
    if (pid == 0)
        become(word_pointers.data(), variable_pointers.data(), before, report.write.get());
    int problem = pid < 0 ? errno : 0;
    report.write.reset();
    // The pipe is closed without data when execve() succeeds.
    if (problem == 0 && (problem = problem_from(report.read.get())) != 0)
        ::waitpid(pid, nullptr, 0);
    // Nothing was started. Restore the mask here, because there is no Program whose destructor
    // restores it.
    if (problem != 0) {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        return errno_error(scrubbed(words.front()), problem);
    }
    std::unique_ptr<Program> program{
        new Program{pid, std::move(signals), before, std::move(ended)}};
    program->watch_ =
        loop.watch(program->signals_.get(), EPOLLIN, EventLoop::Priority::Normal,
                   [program = program.get()](std::uint32_t) { program->read_signals(); });
    return program;
}

void Program::read_signals() {
    signalfd_siginfo info = {};
    bool has_children = false;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const auto signal = static_cast<int>(info.ssi_signo);
        // The kernel may merge several SIGCHLD into one, so handle the changes of all children
        // together.
        if (signal == SIGCHLD)
            has_children = true;
        else
            pass_on(signal, info.ssi_code == SI_KERNEL);
    }
    if (has_children)
        wait();
}

/// Sends a signal on to the program. A signal from the terminal has already reached our whole
/// process group, which includes the program unless the program has left the group.
void Program::pass_on(int signal, bool is_of_terminal) const {
    if (!is_of_terminal || ::getpgid(pid_) != ::getpgrp())
        ::kill(pid_, signal);
}

void Program::wait() {
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOHANG) != 0 ||
        info.si_pid == 0)
        return;
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
        // Stop like the program, so that the shell that waits for us notices. SIGCONT is passed on
        // later.
        if (info.si_code == CLD_STOPPED)
            ::raise(SIGSTOP);
        return wait();
    }
    watch_.reset();
    const auto ended = std::move(ended_);
    if (info.si_code == CLD_EXITED)
        ended({.status = info.si_status});
    else
        ended({.signal = info.si_status});
}

void die_by(int signal) {
    const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    (void)::setrlimit(RLIMIT_CORE, &none);  // a core dump of this process would be useless
    // The signal may be ignored or blocked in this process.
    (void)::signal(signal, SIG_DFL);
    sigset_t only;
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(signal);
}

}  // namespace gpuprobe::inline cli
