// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include <unistd.h>

/// The ways in which bad drivers harm the process that loads them.
namespace fake {

/// Ends the process by SIGSEGV, even if a handler is installed.
[[noreturn]] inline void crash() {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    ::_exit(99);
}

/// Never returns, and ignores SIGTERM and SIGINT.
[[noreturn]] inline void hang() {
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    for (;;)
        ::pause();
}

}  // namespace fake
