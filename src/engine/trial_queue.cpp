// SPDX-License-Identifier: Apache-2.0
#include "engine/trial_queue.h"

#include <algorithm>
#include <utility>

#include "report/trials.h"

namespace gpuprobe {

void TrialQueue::add(const std::vector<ProbeTarget>& targets, Progress progress, Done done) {
    for (const auto& target : targets) {
        const bool is_known =
            running_.contains(target) || std::ranges::find(waiting_, target) != waiting_.end();
        if (!is_known)
            waiting_.push_back(target);
    }
    waiters_.push_back(Waiter{.left = {targets.begin(), targets.end()},
                              .total = targets.size(),
                              .progress = std::move(progress),
                              .done = std::move(done)});
}

bool TrialQueue::may_start(const ProbeTarget& target) const {
    if (running_.empty())
        return true;
    const auto is_measured = [](const ProbeTarget& one) { return one.stage == kMeasureStage; };
    return !is_measured(target) && std::ranges::none_of(running_, is_measured);
}

const ProbeTarget* TrialQueue::next() const {
    return !waiting_.empty() && may_start(waiting_.front()) ? &waiting_.front() : nullptr;
}

std::vector<ProbeTarget> TrialQueue::take_startable() {
    std::vector<ProbeTarget> startable;
    while (!waiting_.empty() && may_start(waiting_.front())) {
        startable.push_back(waiting_.front());
        running_.insert(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    return startable;
}

std::vector<TrialQueue::Done> TrialQueue::finish(const ProbeTarget& target) {
    running_.erase(target);
    std::vector<Done> over;
    for (auto& waiter : waiters_) {
        if (waiter.left.erase(target) == 0)
            continue;
        if (waiter.progress)
            waiter.progress(1 - static_cast<double>(waiter.left.size()) /
                                    static_cast<double>(waiter.total));
        if (waiter.left.empty() && waiter.done)
            over.push_back(std::move(waiter.done));
    }
    std::erase_if(waiters_, [](const Waiter& waiter) { return waiter.left.empty(); });
    return over;
}

}  // namespace gpuprobe
