// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"

namespace gpuprobe::inline service {

/// How often one user may make calls that cost more than an answer, such as a write to the disk or
/// a probe.
class CallBudget {
public:
    static constexpr unsigned kCalls = 30;  ///< per window
    static constexpr Duration kWindow = std::chrono::minutes{1};
    static constexpr std::size_t kMaxUsers = 1024;

    explicit CallBudget(const Clock& clock) : clock_{clock} {}

    /// Errors: TooManyRequests when the user made too many calls within the window, or when too
    /// many users are active in it. Root has no limit.
    Status take(uid_t uid);

private:
    struct Account {
        unsigned calls = 0;
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<uid_t, Account> accounts_ = {};
};

}  // namespace gpuprobe::inline service
