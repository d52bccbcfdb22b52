// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "misbehave.h"

/// The variable FAULT selects what a driver does wrong: "FAULT@PLACE" causes the fault when the
/// driver reaches the place, "CALL=NUMBER" sets a call's result, one word selects a false report.
namespace fake {

inline std::string_view fault() {
    const char* text = std::getenv("FAULT");
    return text ? text : "";
}

/// This variable is set while the process has a CUDA context. The fake NVML then reports that
/// memory as used.
constexpr const char* kContextVariable = "FAKE_CUDA_CONTEXT";
constexpr unsigned long long kContextBytes = 523ULL << 20U;

inline bool lies(std::string_view lie) {
    return fault() == lie;
}

/// The result of a call: the number in FAULT, for example "cuInit=100", otherwise `usual`.
inline int returned(std::string_view call, int usual) {
    const auto text = fault();
    const auto middle = text.find('=');
    return middle != std::string_view::npos && text.substr(0, middle) == call
               ? std::atoi(text.data() + middle + 1)
               : usual;
}

/// A number that differs between processes, and is larger in later processes.
inline std::size_t another_each_time() {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::size_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000) % 1'000'000;
}

inline void pause_for(long milliseconds) {
    timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
}

[[noreturn]] inline void die_of(int signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    ::_exit(99);
}

inline int overflow(int depth) {
    volatile char room[4096];
    room[0] = static_cast<char>(depth);
    return depth < 0 ? 0 : overflow(depth + 1) + room[0];
}

[[noreturn]] inline void hang_deaf() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (;;)
        ::pause();
}

[[noreturn]] inline void spin() {
    std::signal(SIGTERM, SIG_IGN);
    for (volatile std::uint64_t turns = 0;;)
        turns = turns + 1;
}

inline void say(int fd, std::size_t bytes) {
    const std::string line(4095, 'x');
    for (std::size_t said = 0; said < bytes; said += line.size() + 1)
        (void)!::write(fd, (line + "\n").data(), line.size() + 1);
}

/// Writes up to 1 GiB, as fast as the reader reads. Stops when there is no reader.
inline void pour(int fd, std::string_view piece) {
    constexpr std::size_t kAll = std::size_t{1} << 30U;
    static std::size_t said = 0;
    std::string block;
    while (block.size() < std::size_t{1} << 20U)
        block += piece;
    for (; said < kAll; said += block.size())
        for (std::string_view rest = block; !rest.empty();) {
            const auto count = ::write(fd, rest.data(), rest.size());
            if (count <= 0)
                return;
            rest.remove_prefix(static_cast<std::size_t>(count));
        }
}

/// Calls `use` for each open pipe except the three standard descriptors.
template <class Use>
void each_pipe(Use use) {
    for (int fd = 3; fd < 1024; ++fd) {
        struct stat info = {};
        if (::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode))
            use(fd);
    }
}

inline void forge() {
    each_pipe([](int fd) { (void)!::write(fd, "this is no frame, and too long for one", 38); });
}

/// Writes valid frames without end: phases, whose number is not limited.
inline void pour_frames() {
    constexpr std::string_view kPhase{"\x0c\0\0\0\1\0\0\0{\"name\":\"x\"}", 20};
    each_pipe([&](int fd) { pour(fd, kPhase); });
}

/// Writes the header of a frame that never ends, and then one byte of the frame every 20 ms.
[[noreturn]] inline void trickle() {
    constexpr std::array<char, 9> kStart = {'\0', '\0', '\1', '\0', '\2', '\0', '\0', '\0', '{'};
    each_pipe([&](int fd) { (void)!::write(fd, kStart.data(), kStart.size()); });
    for (;;) {
        pause_for(20);
        each_pipe([](int fd) { (void)!::write(fd, " ", 1); });
    }
}

/// Allocates memory in large pieces and populates it. On some virtual machines, populating single
/// pages would take minutes.
[[noreturn]] inline void eat_memory() {
    constexpr std::size_t kPiece = std::size_t{8} << 20U;
    while (::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED) {
    }
    std::abort();
}

inline void start_threads(int count) {
    for (int i = 0; i < count; ++i) {
        pthread_t thread;
        if (::pthread_create(
                &thread, nullptr, [](void*) -> void* { hang_deaf(); }, nullptr) != 0)
            return;
    }
}

inline void start_family(int count) {
    for (int i = 0; i < count; ++i)
        if (::fork() == 0)
            hang_deaf();
}

/// Forks without end, and so do the children; with `leaves`, children create sessions. Needs a
/// limit on the number of processes.
[[noreturn]] inline void bomb(bool leaves) {
    for (;;)
        if (::fork() == 0 && leaves)
            ::setsid();
}

/// Starts a process in a new session whose parent ends at once, like daemon(3) with a double fork.
inline void start_daemon() {
    const auto child = ::fork();
    if (child != 0) {
        ::waitpid(child, nullptr, 0);
        return;
    }
    ::setsid();
    if (::fork() == 0)
        hang_deaf();
    ::_exit(0);
}

inline void damage_heap() {
    auto* block = static_cast<volatile char*>(std::malloc(24));
    for (int i = 0; i < 64; ++i)
        block[i] = 'x';
}

inline void commit(std::string_view what) {
    if (what == "segv")
        crash();
    if (what == "abort")
        std::abort();
    if (what == "ill")
        die_of(SIGILL);
    if (what == "term")
        die_of(SIGTERM);
    if (what == "overflow")
        std::printf("%d\n", overflow(0));
    if (what == "exit")
        std::exit(0);
    if (what == "exit-at-once")
        ::_exit(0);
    if (what == "throw")
        throw std::runtime_error{"thrown by a driver"};
    if (what == "throw-odd")
        throw 7;
    if (what == "hang")
        hang_deaf();
    if (what == "spin")
        spin();
    if (what == "stop")
        std::raise(SIGSTOP);
    if (what == "trickle")
        trickle();
    if (what == "vfork" && ::vfork() == 0)
        for (;;)
            ::pause();
    if (what == "slow")
        pause_for(700);
    if (what == "babble")
        say(STDOUT_FILENO, 20'000);
    if (what == "flood")
        say(STDERR_FILENO, std::size_t{64} << 20U);
    if (what == "pour-errors")
        pour(STDERR_FILENO, "a line of an error\n");
    if (what == "pour-text")
        pour(STDOUT_FILENO, "text without a line's end");
    if (what == "pour-frames")
        pour_frames();
    if (what == "eat-memory")
        eat_memory();
    if (what == "threads")
        start_threads(200);
    if (what == "family")
        start_family(100);
    if (what == "bomb")
        bomb(false);
    if (what == "bomb-apart")
        bomb(true);
    if (what == "daemon")
        start_daemon();
    if (what == "daemon-segv") {
        start_daemon();
        crash();
    }
    if (what == "daemon-hang") {
        start_daemon();
        hang_deaf();
    }
    if (what == "close")
        ::close_range(3, ~0U, 0);
    if (what == "forge")
        forge();
    if (what == "heap")
        damage_heap();
    if (what == "kill-parent")
        ::kill(::getppid(), SIGKILL);
    if (what == "kill-parents-group")
        ::kill(-::getppid(), SIGKILL);
    if (what == "kill-parent-by-descriptor")
        ::syscall(SYS_pidfd_send_signal,
                  static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)), SIGKILL, nullptr, 0);
}

/// Called at each place where a driver could fail.
inline void at(std::string_view place) {
    const auto text = fault();
    const auto middle = text.find('@');
    if (middle != std::string_view::npos && text.substr(middle + 1) == place)
        commit(text.substr(0, middle));
}

}  // namespace fake
