// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "probe/target.h"

namespace gpuprobe {

/// The probes that run together, and who waits for them. Requests that come while it runs join it.
class Round {
public:
    using Progress = std::function<void(double)>;
    using Done = std::function<void()>;

    /// False when that target runs already.
    bool begin(const ProbeTarget& target);
    void finish(const ProbeTarget& target);
    void wait(Progress progress, Done done);
    [[nodiscard]] bool runs(const ProbeTarget& target) const { return running_.contains(target); }
    [[nodiscard]] bool running() const { return !running_.empty(); }
    [[nodiscard]] const std::set<ProbeTarget>& targets() const { return running_; }
    /// Ends the round: forgets its counts and returns who waited.
    std::vector<Done> end();

private:
    struct Waiter {
        Progress progress = {};
        Done done = {};
    };
    std::set<ProbeTarget> running_ = {};
    std::size_t begun_ = 0;
    std::size_t finished_ = 0;
    std::vector<Waiter> waiters_ = {};
};

}  // namespace gpuprobe
