// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "base/clock.h"

namespace gpuprobe::inline base {

/// How long a start waits for what a killed process of the same program held. The kernel closes its
/// descriptors at once, but children that it had just started hold them until their own program
/// runs, or until they have seen its end.
constexpr Duration kAfterPredecessor = std::chrono::seconds{2};

/// Whether `attempt` succeeds, tried again and again within `patience`; at least once.
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
