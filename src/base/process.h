// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "base/units.h"

namespace gpuprobe::inline base {

/// The name of a signal, such as "SIGSEGV", or "signal 34" if the signal has no name. This function
/// replaces sigabbrev_np(), which was added in glibc 2.32.
std::string signal_name(int number);

/// How long a starting program waits for resources (locks, sockets, bus names) of a predecessor
/// that was killed. The kernel closes the predecessor's descriptors immediately, but children that
/// the predecessor had just started keep copies until they call execve(), or until they detect that
/// their parent has exited.
constexpr Duration kAfterPredecessor = std::chrono::seconds{2};

/// Repeats `attempt` every 10 ms until it succeeds or `patience` has passed; tries at least once.
/// Returns whether an attempt succeeded.
template <class Attempt>
bool succeeds_within(Duration patience, Attempt attempt) {
    const auto late = std::chrono::steady_clock::now() + patience;
    while (!attempt()) {
        if (std::chrono::steady_clock::now() >= late)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return true;
}

}  // namespace gpuprobe::inline base
