// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include <unistd.h>

/// What bad drivers do to the process that loads them.
namespace fake {

/// Ends by SIGSEGV whatever handler is installed.
[[noreturn]] inline void crash() {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    ::_exit(99);
}

/// Never returns, and shrugs off the polite signals.
[[noreturn]] inline void hang() {
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    for (;;)
        ::pause();
}

}  // namespace fake
