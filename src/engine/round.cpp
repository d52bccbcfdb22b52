// SPDX-License-Identifier: Apache-2.0
#include "engine/round.h"

#include <utility>

namespace gpuprobe {

bool Round::begin(const ProbeTarget& target) {
    if (!running_.insert(target).second)
        return false;
    ++begun_;
    return true;
}

void Round::finish(const ProbeTarget& target) {
    if (running_.erase(target) == 0)
        return;
    ++finished_;
    const auto share = static_cast<double>(finished_) / static_cast<double>(begun_);
    for (const auto& waiter : waiters_)
        if (waiter.progress)
            waiter.progress(share);
}

void Round::wait(Progress progress, Done done) {
    waiters_.push_back(Waiter{.progress = std::move(progress), .done = std::move(done)});
}

std::vector<Round::Done> Round::end() {
    std::vector<Done> waiting;
    for (auto& waiter : std::exchange(waiters_, {}))
        if (waiter.done)
            waiting.push_back(std::move(waiter.done));
    begun_ = finished_ = 0;
    return waiting;
}

}  // namespace gpuprobe
