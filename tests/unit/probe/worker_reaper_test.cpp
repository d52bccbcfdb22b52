// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_reaper.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe {
namespace worker_reaper_test {

/// A reaper and its worker, which waits. With `leaves`, the worker has a child in another session.
struct Kept {
    pid_t keeper = -1;
    pid_t worker = -1;
};

[[noreturn]] void work(int report, bool leaves) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setpgid(0, 0);
    if (leaves && ::fork() == 0)
        ::setsid();
    else if (const pid_t self = ::getpid(); ::write(report, &self, sizeof self) < 0)
        ::_exit(EXIT_FAILURE);
    for (;;)
        ::pause();
}

Kept start(bool leaves) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t parent = ::getpid();
    Kept kept{.keeper = ::fork()};
    if (kept.keeper == 0) {
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, nullptr);
        if (!become_keeper(parent))
            ::_exit(EXIT_FAILURE);
        const pid_t worker = ::fork();
        if (worker == 0)
            work(ends[1], leaves);
        keep({.worker = worker});
    }
    EXPECT_EQ(::read(ends[0], &kept.worker, sizeof kept.worker), ssize_t{sizeof kept.worker});
    ::close(ends[0]);
    ::close(ends[1]);
    return kept;
}

int end_of(const Kept& kept) {
    int status = 0;
    EXPECT_EQ(::waitpid(kept.keeper, &status, 0), kept.keeper);
    return status;
}

class Keeper : public ::testing::TestWithParam<bool> {};

TEST_P(Keeper, SaysThatItWasToldToEnd) {
    const auto kept = start(GetParam());
    ::kill(kept.keeper, SIGTERM);
    const int status = end_of(kept);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kExitTerminated);
}

/// Sends SIGTERM to the worker and the reaper, as at a shutdown, in both orders.
TEST_P(Keeper, SaysSoWhenAllAreTold) {
    for (int i = 0; i < 20; ++i) {
        const auto kept = start(GetParam());
        ::kill(i % 2 == 0 ? kept.worker : kept.keeper, SIGTERM);
        ::kill(i % 2 == 0 ? kept.keeper : kept.worker, SIGTERM);
        const int status = end_of(kept);
        EXPECT_TRUE(WIFEXITED(status)) << i;
        EXPECT_EQ(WEXITSTATUS(status), kExitTerminated) << i;
    }
}

TEST_P(Keeper, EndsAsAWorkerThatEndsItself) {
    const auto kept = start(GetParam());
    ::kill(kept.worker, SIGTERM);
    const int status = end_of(kept);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

INSTANTIATE_TEST_SUITE_P(AndItsWorker, Keeper, ::testing::Bool(), [](const auto& row) {
    return row.param ? std::string{"WithAChildThatLeft"} : std::string{"Alone"};
});

}  // namespace worker_reaper_test
}  // namespace gpuprobe
