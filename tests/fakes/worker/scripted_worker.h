// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "probe/worker_answer.h"

/// Workers that misbehave in different ways. A test program becomes such a worker if its first
/// argument names a script, so a test program can be its own gpuprobe-worker.
namespace gpuprobe::scripted {

/// The fact of an API in which a script reports values to its test.
constexpr const char* kSelfKey = "platforms";

/// Identifies a process by a PID namespace and the number of the process in this namespace, which
/// is the namespace of the process `in_namespace_of`.
inline std::string name_of_process(const std::string& in_namespace_of, pid_t number) {
    std::error_code gone;
    const auto space =
        std::filesystem::read_symlink("/proc/" + in_namespace_of + "/ns/pid", gone).string();
    return space + " " + std::to_string(number);
}

/// The number of that process in our PID namespace. /proc also lists nested PID namespaces.
inline std::optional<pid_t> number_of(const std::string& name) {
    for (const auto& process : std::filesystem::directory_iterator{"/proc"}) {
        const auto folder = process.path().filename().string();
        const auto status = RootedFiles{}.read("/proc/" + folder + "/status", kib(16));
        const auto numbers = status ? value_of_line(*status, "NSpid") : std::nullopt;
        if (!numbers)
            continue;
        const auto own = numbers->substr(numbers->find_last_of(" \t") + 1);
        if (name_of_process(folder, parse_number<pid_t>(own).value_or(0)) == name)
            return parse_number<pid_t>(folder);
    }
    return std::nullopt;
}

/// Whether the process ends within ten seconds.
inline bool ends(const Value& told) {
    const auto* name = told.as_string();
    const auto number = name ? number_of(*name) : std::nullopt;
    if (!number)
        return name != nullptr;
    const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, *number, 0))};
    pollfd end = {.fd = process.get(), .events = POLLIN, .revents = 0};
    return !process || ::poll(&end, 1, 10'000) == 1;
}

inline void write_frames(std::string_view bytes) {
    (void)!::write(3, bytes.data(), bytes.size());
}

/// Writes two phases, one runtime fact and two devices. Most scripts write these frames first.
inline FrameWriter speak() {
    FrameWriter writer;
    write_frames(writer.phase("dlopen"));
    Value runtime;
    runtime["loader"] = Value{"libfake.so.1"};
    write_frames(writer.runtime(runtime));
    write_frames(writer.device(DeviceFacts{.index = 0, .name = "first"}));
    write_frames(writer.device(DeviceFacts{.index = 1, .name = "second"}));
    write_frames(writer.phase("enumerate"));
    return writer;
}

inline void answer() {
    auto writer = speak();
    write_frames(writer.done(Outcome::Answered, "well", {}));
}

[[noreturn]] inline void hang() {
    std::signal(SIGTERM, SIG_IGN);
    for (;;)
        ::pause();
}

/// Creates a child that keeps all descriptors open for at most three seconds.
inline void leave_child(bool in_own_session) {
    if (::fork() != 0)
        return;
    if (in_own_session)
        ::setsid();
    ::alarm(3);
    for (;;)
        ::pause();
}

/// Creates a process in a new session whose parent ends at once, like daemon(3). The name of the
/// process is reported as a fact. The process ends after a minute.
inline void leave_daemon() {
    int ends[2] = {-1, -1};
    (void)!::pipe(ends);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        if (::fork() == 0) {
            ::alarm(60);
            const pid_t self = ::getpid();
            (void)!::write(ends[1], &self, sizeof self);
            for (;;)
                ::pause();
        }
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    pid_t daemon = 0;
    (void)!::read(ends[0], &daemon, sizeof daemon);
    Value runtime;
    runtime[kSelfKey] = Value{name_of_process("self", daemon)};
    write_frames(FrameWriter{}.runtime(runtime));
}

[[noreturn]] inline void flood(int fd, std::string_view bytes) {
    for (;;)
        (void)!::write(fd, bytes.data(), bytes.size());
}

inline Value limit_of(__rlimit_resource resource) {
    rlimit limit = {};
    ::getrlimit(resource, &limit);
    return Value{static_cast<unsigned long long>(limit.rlim_cur)};
}

inline Value open_descriptors() {
    Value list{Value::Array{}};
    std::map<int, std::string> open;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
        open.emplace(std::stoi(entry.path().filename()), "");
    for (const auto& [fd, unused] : open)
        if (::fcntl(fd, F_GETFD) >= 0)  // skips the descriptor that was used to list the folder
            list.push_back(Value{fd});
    return list;
}

inline Value environment() {
    Value variables{Value::Object{}};
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        const auto middle = text.find('=');
        variables[text.substr(0, middle)] = Value{text.substr(middle + 1)};
    }
    return variables;
}

/// Reports how the launcher has set up this process.
inline void describe_self(int argc, char** argv) {
    Value self;
    self["arguments"] = Value{Value::Array{}};
    for (int i = 1; i < argc; ++i)
        self["arguments"].push_back(Value{argv[i]});
    self["environment"] = environment();
    self["descriptors"] = open_descriptors();
    self["folder"] = Value{std::filesystem::current_path().string()};
    self["leads_group"] = Value{::getpgrp() == ::getpid()};
    self["no_new_privileges"] = Value{::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1};
    int death_signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &death_signal);
    self["death_signal"] = Value{death_signal};
    self["core"] = limit_of(RLIMIT_CORE);
    self["files"] = limit_of(RLIMIT_NOFILE);
    self["file_size"] = limit_of(RLIMIT_FSIZE);
    self["address_space"] = limit_of(RLIMIT_AS);
    sigset_t blocked;
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
    self["blocks_signals"] = Value{::sigismember(&blocked, SIGTERM) == 1};
    FrameWriter writer;
    write_frames(writer.runtime(Value{Value::Object{{kSelfKey, self}}}));
    write_frames(writer.done(Outcome::Answered, std::nullopt, {}));
}

inline void print_and_fail() {
    speak();
    for (int i = 0; i < 2000; ++i)
        (void)!::write(STDOUT_FILENO, "noise\n", 6);
    constexpr std::string_view kLast = "\n\n\033[31mthe driver is broken\n";
    (void)!::write(STDERR_FILENO, kLast.data(), kLast.size());
}

inline int run_quiet(std::string_view script) {
    if (script == "good")
        answer();
    if (script == "silent" || script == "exit-7")
        return script == "silent" ? 0 : 7;
    if (script == "unfinished")
        speak();
    if (script == "garbage")
        write_frames("this is not a frame at all");
    if (script == "answer-then-more") {
        auto writer = speak();
        write_frames(writer.done(Outcome::Answered, std::nullopt, {}) + "x");
    }
    if (script == "torn")
        write_frames(speak().device(DeviceFacts{.name = "third"}).substr(0, 20));
    if (script == "flipped") {
        auto writer = speak();
        auto done = writer.done(Outcome::Answered, std::nullopt, {});
        done[10] = static_cast<char>(done[10] ^ 1);
        write_frames(done);
    }
    return 0;
}

inline void run_violent(std::string_view script) {
    speak();
    if (script == "crash") {
        std::signal(SIGSEGV, SIG_DFL);  // sanitizers install a handler
        ::kill(::getpid(), SIGSEGV);
    }
    if (script == "abort")
        std::abort();
    if (script == "stop")
        std::raise(SIGSTOP);
    if (script == "close-everything")
        ::close_range(0, ~0U, 0);
    if (script == "flood-frames")
        flood(3, FrameWriter{}.device(DeviceFacts{.name = std::string(200, 'x')}));
    if (script == "flood-phases") {
        std::string phases;
        for (int i = 0; i < 1000; ++i)
            phases += FrameWriter{}.phase(std::string(60, 'x'));
        flood(3, phases);
    }
    if (script == "flood-output")
        flood(STDERR_FILENO, std::string(4096, 'x') + "\n");
    hang();
}

inline int run_with_family(std::string_view script) {
    if (script == "child-holds-pipes")
        leave_child(/*in_own_session=*/false);
    if (script == "daemon-holds-pipes")
        leave_child(/*in_own_session=*/true);
    if (script.starts_with("daemon-and-"))
        leave_daemon();
    if (script == "daemon-and-crash")
        std::abort();
    if (script == "daemon-and-hang")
        hang();
    answer();
    if (script == "stay")
        hang();
    pollfd let_go = {.fd = 3, .events = 0, .revents = 0};
    if (script == "until-let-go")
        return ::poll(&let_go, 1, 10'000) == 1 ? 0 : 9;
    return 0;
}

/// Runs the script and returns its exit status. Some scripts never return.
inline int run(int argc, char** argv) {
    const std::string_view script = argv[1];
    if (script == "self")
        describe_self(argc, argv);
    else if (script == "print-and-fail")
        print_and_fail();
    else if (script == "stay" || script == "until-let-go" || script.ends_with("-holds-pipes") ||
             script.starts_with("daemon-and-"))
        return run_with_family(script);
    else if (script == "crash" || script == "abort" || script == "stop" || script == "hang" ||
             script == "close-everything" || script.starts_with("flood-"))
        run_violent(script);
    else
        return run_quiet(script);
    return script == "print-and-fail" ? 1 : 0;
}

/// Like run(), but reads the arguments from stdin, each followed by a NUL. Without arguments, no
/// script runs.
inline int run_job(char* program) {
    std::string job(4096, '\0');
    const auto count = ::read(STDIN_FILENO, job.data(), job.size());
    job.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    std::vector<char*> arguments = {program};
    for (std::size_t at = 0; at < job.size(); at = job.find('\0', at) + 1)
        arguments.push_back(job.data() + at);
    return arguments.size() > 1 ? run(static_cast<int>(arguments.size()), arguments.data()) : 0;
}

}  // namespace gpuprobe::scripted
