// SPDX-License-Identifier: Apache-2.0
#include "probe/supervisor.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>

#include "probe/probe_run.h"
#include "report/trials.h"

namespace gpuprobe::inline probe {
namespace {

/// How many killed workers may still be running before no more are started: a driver that hangs in
/// the kernel also hangs the next worker.
constexpr std::size_t kMaxUnburied = 64;

/// A start takes some milliseconds in which nobody is answered. What was asked meanwhile has so
/// long before the next one.
constexpr Duration kBetweenStarts = std::chrono::milliseconds{1};

/// For all that are killed at the end of a supervisor.
constexpr Duration kFarewell = std::chrono::milliseconds{100};

struct Waiting {
    ProbeTarget target = {};
    Supervisor::Done done = {};
    Patience patience = Patience::Usual;
    Supervisor::Answered answered = {};
};

struct Running {
    std::unique_ptr<ProbeRun> run = {};
    Supervisor::Done done = {};
    Supervisor::Answered answered = {};
    std::optional<Duration> answered_after = {};  ///< since its start
    bool stays = false;                           ///< once it has answered
};

/// A killed worker until it ends.
struct Unburied {
    ProbeTarget target = {};
    std::unique_ptr<Worker> worker = {};
    EventHandle ended = {};
    EventHandle patience = {};
    bool is_stuck = false;
};

/// Reaps them as they end, until `patience` is over.
void await_all(const std::vector<Worker*>& workers, Duration patience) {
    const auto start = std::chrono::steady_clock::now();
    auto alive = workers;
    for (;;) {
        std::erase_if(alive, [](Worker* worker) { return worker->reap().has_value(); });
        const auto left = patience - (std::chrono::steady_clock::now() - start);
        if (alive.empty() || left <= left.zero())
            return;
        std::vector<pollfd> ends;
        for (const auto* worker : alive)
            ends.push_back({.fd = worker->ended(), .events = POLLIN, .revents = 0});
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left);
        if (::poll(ends.data(), ends.size(), static_cast<int>(wait.count())) <= 0)
            return;
    }
}

Duration whole_seconds(Duration duration) {
    return std::chrono::floor<std::chrono::seconds>(duration);
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
    std::function<void(const ProbeTarget&, const std::string&)> slow = {};
    EventHandle turn = {};  ///< until the next may be started

    ~Impl();
    [[nodiscard]] const Unburied* remains_of(const ProbeTarget& target) const;
    [[nodiscard]] ProbePatience patience_of(const Waiting& next) const;
    void begin(Waiting next);
    void start_waiting();
    void buried(std::list<Unburied>::iterator place);
    [[nodiscard]] bool has_place() const;
    void let_go_answered();
    void go_on();
    void note_times(const Running& one, ProbeResult& result) const;
    void ended(std::list<Running>::iterator place,
               ProbeResult result,
               std::unique_ptr<Worker> worker);
    void bury(const ProbeTarget& target, std::unique_ptr<Worker> worker);
};

/// All are killed first and then waited for together: with one after the other, each that is stuck
/// in the kernel would cost the whole time. A driver that has answered takes long to go, and is
/// nothing to wait for.
Supervisor::Impl::~Impl() {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Worker*> ends;
    const auto end = [&](std::unique_ptr<Worker> worker, bool is_awaited) {
        if (!worker)
            return;
        worker->kill();
        if (is_awaited && worker->ended() >= 0)
            ends.push_back(worker.get());
        workers.push_back(std::move(worker));
    };
    for (auto& one : running)
        end(one.run->abandon(), !one.answered_after);
    for (auto& one : unburied)
        end(std::move(one.worker), true);
    await_all(ends, kFarewell);
}

const Unburied* Supervisor::Impl::remains_of(const ProbeTarget& target) const {
    const auto found = std::ranges::find(unburied, target, &Unburied::target);
    return found == unburied.end() ? nullptr : &*found;
}

ProbePatience Supervisor::Impl::patience_of(const Waiting& next) const {
    const int times = next.patience == Patience::Double && !limits.is_hurried ? 2 : 1;
    const auto limit = next.target.stage == "query" ? limits.query : limits.trial;
    return {.warn = limits.warn * times, .limit = limit * times};
}

void Supervisor::Impl::begin(Waiting next) {
    const auto* remains = remains_of(next.target);
    const bool is_stuck = remains && remains->is_stuck;
    const auto patience = patience_of(next);
    const auto place = running.insert(
        running.end(), Running{.done = std::move(next.done), .answered = std::move(next.answered)});
    place->run = std::make_unique<ProbeRun>(
        loop, std::move(next.target), patience,
        [this, place](const std::string& phase) {
            if (slow)
                slow(place->run->target(), phase);
        },
        [this, place](ProbeResult result, bool is_whole) {
            note_times(*place, result);
            if (is_whole)
                place->answered_after = result.duration;
            place->stays = place->answered && result.outcome == Outcome::Answered;
            if (place->answered)
                place->answered(std::move(result), is_whole);
            let_go_answered();
        },
        [this, place](ProbeResult result, std::unique_ptr<Worker> worker) {
            ended(place, std::move(result), std::move(worker));
        });
    if (is_stuck)
        place->run->refuse("worker-stuck", "its last worker is stuck in the kernel");
    else if (unburied.size() >= kMaxUnburied)
        place->run->refuse("worker-not-started", "too many killed workers have not ended");
    else
        place->run->begin(launcher);
}

/// A target whose last worker may still end waits for that, and lets others pass. After a start
/// that took long, others of the loop have their turn.
void Supervisor::Impl::start_waiting() {
    turn.reset();
    const auto may_start = [this](const Waiting& next) {
        const auto* remains = remains_of(next.target);
        return !remains || remains->is_stuck;
    };
    while (!turn && has_place()) {
        const auto next = std::ranges::find_if(waiting, may_start);
        if (next == waiting.end())
            return;
        auto taken = std::move(*next);
        waiting.erase(next);
        const auto started = loop.now();
        begin(std::move(taken));
        // A time counts from when the loop began its turn, which was before this start: hence in
        // the next.
        if (loop.now() - started >= kBetweenStarts)
            turn = loop.defer([this] { turn = loop.after(kBetweenStarts, [this] { go_on(); }); });
    }
}

bool Supervisor::Impl::has_place() const {
    return running.size() < std::max<std::size_t>(limits.concurrent, 1);
}

/// Who is told of no answer waits for the process, and a trial takes its time.
void Supervisor::Impl::let_go_answered() {
    const auto is_asked = [](const Running& one) {
        return !one.answered_after && one.run->target().stage == kQueryStage;
    };
    const bool may_stay = waiting.empty() ? std::ranges::any_of(running, is_asked) : has_place();
    for (auto& one : running)
        if (one.answered_after && !(may_stay && one.stays))
            one.run->let_go();
}

void Supervisor::Impl::go_on() {
    start_waiting();
    let_go_answered();
}

/// What it does after its answer is no time of the driver's.
void Supervisor::Impl::note_times(const Running& one, ProbeResult& result) const {
    result.duration = one.answered_after.value_or(loop.now() - one.run->started());
    result.at = clock.wall();
    if (result.outcome == Outcome::Answered && !result.note && *result.duration >= limits.warn)
        result.note = "answered after " + text_of_limit(whole_seconds(*result.duration));
}

void Supervisor::Impl::ended(std::list<Running>::iterator place,
                             ProbeResult result,
                             std::unique_ptr<Worker> worker) {
    note_times(*place, result);
    std::list<Running> over;
    over.splice(over.end(), running, place);
    if (worker)
        bury(over.front().run->target(), std::move(worker));
    go_on();
    const auto done = std::move(over.front().done);
    over.clear();
    done(std::move(result));  // may destroy this
}

void Supervisor::Impl::bury(const ProbeTarget& target, std::unique_ptr<Worker> worker) {
    worker->kill();
    if (worker->ended() < 0 || worker->reap())
        return;
    const auto place =
        unburied.insert(unburied.end(), Unburied{.target = target, .worker = std::move(worker)});
    place->ended = loop.watch(place->worker->ended(), EPOLLIN, EventLoop::Priority::Worker,
                              [this, place](auto) {
                                  if (place->worker->reap())
                                      buried(place);
                              });
    place->patience = loop.after(limits.stuck, [this, place] {
        place->is_stuck = true;
        go_on();  // which fails those that wait for it
    });
    if (!place->ended)
        unburied.erase(place);
}

void Supervisor::Impl::buried(std::list<Unburied>::iterator place) {
    unburied.erase(place);
    go_on();
}

Supervisor::Supervisor(EventLoop& loop, Launcher& launcher, const Clock& clock, ProbeLimits limits)
    : impl_{new Impl{.loop = loop, .launcher = launcher, .clock = clock, .limits = limits}} {}
Supervisor::~Supervisor() = default;

void Supervisor::on_slow(std::function<void(const ProbeTarget&, const std::string&)> slow) {
    impl_->slow = std::move(slow);
}

void Supervisor::start(const ProbeTarget& target, Done done, Patience patience, Answered answered) {
    impl_->waiting.push_back(Waiting{.target = target,
                                     .done = std::move(done),
                                     .patience = patience,
                                     .answered = std::move(answered)});
    if (impl_->turn)
        impl_->let_go_answered();
    else
        impl_->go_on();
}

bool Supervisor::idle() const {
    return impl_->running.empty() && impl_->waiting.empty();
}

}  // namespace gpuprobe::inline probe
