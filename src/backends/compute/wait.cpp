// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/wait.h"

#include <chrono>

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/record.h"
#include "base/result.h"

namespace gpuprobe::backends {
namespace {

/// Longer than any batch of the sampler's; what takes longer is not timed to the microsecond.
constexpr std::chrono::milliseconds kSpin{50};
constexpr timespec kNap = {.tv_sec = 0, .tv_nsec = 20'000};

void nap() {
    ::nanosleep(&kNap, nullptr);
}

}  // namespace

Attempt<Done> wait_until(const std::function<Attempt<bool>()>& is_done, Waiting how) {
    using Steady = std::chrono::steady_clock;
    // A nap is 50 µs longer otherwise; prctl(2), PR_SET_TIMERSLACK.
    (void)::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    const auto begin = Steady::now();
    while (!TRY(is_done())) {
        const auto waited = Steady::now() - begin;
        if (waited > max_wait(how))
            return dispatch_timed_out(how);
        if (how == Waiting::Sleeping || waited > kSpin)
            nap();
        else
            ::sched_yield();
    }
    return Done{};
}

Refusal dispatch_timed_out(Waiting how) {
    const auto limit = max_wait(how);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
    Value detail;
    detail["limit_usec"] = to_value(limit);
    return Refusal{.code = "dispatch-timed-out",
                   .note = "the device did not finish within " + std::to_string(seconds) + " s",
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe::backends
