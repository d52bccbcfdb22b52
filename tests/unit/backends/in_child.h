// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe::backends {

/// Runs a test's body in a separate process, so that this process never loads a driver's library.
/// Returns the status from waitpid(): 0 if the body ran to its end and no expectation failed. A
/// child that hangs is ended by SIGALRM.
template <class Body>
int status_of_child(Body body, unsigned seconds = 20) {
    ::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(seconds);
        body();
        ::fflush(nullptr);
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

}  // namespace gpuprobe::backends
