// SPDX-License-Identifier: Apache-2.0
#include "probe/supervisor.h"

#include <algorithm>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include <sys/epoll.h>

#include "probe/probe_run.h"

namespace gpuprobe {
namespace {

/// Killed workers that have not ended yet, before no more are started: a driver that hangs in the
/// kernel hangs the next one too.
constexpr std::size_t kMaxUnburied = 64;

struct Waiting {
    ProbeTarget target = {};
    Supervisor::Done done = {};
};

struct Running {
    std::unique_ptr<ProbeRun> run = {};
    Supervisor::Done done = {};
};

/// A killed worker until it ends.
struct Unburied {
    std::unique_ptr<Worker> worker = {};
    EventHandle ended = {};
};

ProbeResult cancelled(const ProbeTarget& target) {
    return ProbeResult{.api = target.api,
                       .driver = target.driver,
                       .stage = target.stage,
                       .outcome = Outcome::Skipped,
                       .reasons = {Reason{.code = "cancelled"}}};
}

}  // namespace

struct Supervisor::Impl {
    EventLoop& loop;
    Launcher& launcher;
    const Clock& clock;
    ProbeLimits limits = {};
    std::deque<Waiting> waiting = {};
    std::list<Running> running = {};
    std::list<Unburied> unburied = {};

    void start_waiting();
    void ended(std::list<Running>::iterator place,
               ProbeResult result,
               std::unique_ptr<Worker> worker);
    void bury(std::unique_ptr<Worker> worker);
};

void Supervisor::Impl::start_waiting() {
    while (!waiting.empty() && running.size() < std::max<std::size_t>(limits.concurrent, 1)) {
        auto next = std::move(waiting.front());
        waiting.pop_front();
        const auto place = running.insert(running.end(), Running{.done = std::move(next.done)});
        place->run = std::make_unique<ProbeRun>(
            loop, std::move(next.target), limits.query,
            [this, place](ProbeResult result, std::unique_ptr<Worker> worker) {
                ended(place, std::move(result), std::move(worker));
            });
        if (unburied.size() < kMaxUnburied)
            place->run->begin(launcher);
        else
            place->run->refuse("too many killed workers have not ended");
    }
}

void Supervisor::Impl::ended(std::list<Running>::iterator place,
                             ProbeResult result,
                             std::unique_ptr<Worker> worker) {
    result.duration = loop.now() - place->run->started();
    result.at = clock.wall();
    std::list<Running> over;
    over.splice(over.end(), running, place);
    if (worker)
        bury(std::move(worker));
    start_waiting();
    const auto done = std::move(over.front().done);
    over.clear();
    done(std::move(result));  // may destroy this
}

void Supervisor::Impl::bury(std::unique_ptr<Worker> worker) {
    worker->kill();
    if (worker->ended() < 0 || worker->reap())
        return;
    const auto place = unburied.insert(unburied.end(), Unburied{.worker = std::move(worker)});
    place->ended = loop.watch(place->worker->ended(), EPOLLIN, EventLoop::Priority::Worker,
                              [this, place](auto) {
                                  if (place->worker->reap())
                                      unburied.erase(place);
                              });
    if (!place->ended)
        unburied.erase(place);
}

Supervisor::Supervisor(EventLoop& loop, Launcher& launcher, const Clock& clock, ProbeLimits limits)
    : impl_{std::make_unique<Impl>(
          Impl{.loop = loop, .launcher = launcher, .clock = clock, .limits = limits})} {}
Supervisor::~Supervisor() = default;

void Supervisor::start(const ProbeTarget& target, Done done) {
    impl_->waiting.push_back(Waiting{.target = target, .done = std::move(done)});
    impl_->start_waiting();
}

void Supervisor::cancel_all() {
    auto running = std::exchange(impl_->running, {});
    auto waiting = std::exchange(impl_->waiting, {});
    std::vector<std::pair<ProbeResult, Done>> results;
    for (auto& one : running)
        results.emplace_back(cancelled(one.run->target()), std::move(one.done));
    for (auto& one : waiting)
        results.emplace_back(cancelled(one.target), std::move(one.done));
    for (auto& [result, done] : results)
        result.at = impl_->clock.wall();
    for (auto& one : running)
        if (auto worker = one.run->abandon())
            impl_->bury(std::move(worker));
    running.clear();
    for (auto& [result, done] : results)
        done(std::move(result));  // may destroy this
}

bool Supervisor::idle() const {
    return impl_->running.empty() && impl_->waiting.empty();
}

}  // namespace gpuprobe
