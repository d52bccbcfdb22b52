// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "probe/target.h"

namespace gpuprobe {

/// The devices that compute or wait for their turn, and who waits for them. One that is measured is
/// alone: two would share the memory that they measure, be it the host's. Nobody overtakes.
class TrialQueue {
public:
    using Progress = std::function<void(double)>;
    using Done = std::function<void()>;

    /// Adds those that are not in it yet. `done` is for the caller to call once all of `targets`
    /// have ended: finish() hands it out.
    void add(const std::vector<ProbeTarget>& targets, Progress progress, Done done);
    /// Those whose turn has come; they run from now on.
    std::vector<ProbeTarget> take_startable();
    /// The first of those, which does not run yet; null where nobody's turn has come.
    [[nodiscard]] const ProbeTarget* next() const;
    /// It has ended. Returns whose wait is over.
    std::vector<Done> finish(const ProbeTarget& target);

    [[nodiscard]] const std::set<ProbeTarget>& running() const { return running_; }
    [[nodiscard]] bool empty() const { return running_.empty() && waiting_.empty(); }

private:
    struct Waiter {
        std::set<ProbeTarget> left = {};
        std::size_t total = 0;
        Progress progress = {};
        Done done = {};
    };
    [[nodiscard]] bool may_start(const ProbeTarget& target) const;

    std::deque<ProbeTarget> waiting_ = {};
    std::set<ProbeTarget> running_ = {};
    std::vector<Waiter> waiters_ = {};
};

}  // namespace gpuprobe
