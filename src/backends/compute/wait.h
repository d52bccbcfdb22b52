// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "backends/compute/device.h"

namespace gpuprobe::backends {

enum class Waiting {
    Spinning,  ///< asks as fast as it can for a while: what is timed is milliseconds
    Sleeping,  ///< leaves the processor to the device, which is the processor
};

constexpr Waiting waiting_for(bool is_cpu) {
    return is_cpu ? Waiting::Sleeping : Waiting::Spinning;
}

/// How long a submission may take. Drivers for processors compile at the first, for seconds.
constexpr Duration max_wait(Waiting how) {
    return how == Waiting::Sleeping ? std::chrono::seconds{20} : kMaxWait;
}

/// Asks `is_done` until it is true. Refusals: its own; `dispatch-timed-out` after max_wait. For
/// APIs whose own waits have no end.
Attempt<Done> wait_until(const std::function<Attempt<bool>()>& is_done, Waiting how);

/// What a wait of an API's own is that came to its end before the kernel's.
Refusal dispatch_timed_out(Waiting how);

}  // namespace gpuprobe::backends
