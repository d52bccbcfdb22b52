// SPDX-License-Identifier: Apache-2.0
#include "probe/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/text.h"
#include "report/trials.h"

namespace gpuprobe::inline probe {
namespace {

/// How long a process may take to exit after its answer; a driver needs time to free its memory.
constexpr Duration kGrace = std::chrono::milliseconds{500};
/// How long frames are still read after a complete answer. If a driver forged the complete answer,
/// the worker's own frames follow and reveal the forgery.
constexpr Duration kLastWords = std::chrono::milliseconds{5};
constexpr std::size_t kChunk = 65536;  // a pipe's capacity, pipe(7)
constexpr std::size_t kMaxProblem = 512;
/// The maximum number of chunks that are read before other events are handled. Parsing 256 KiB
/// takes less than a millisecond, and a complete stream may have 8 MiB.
constexpr int kPiecesATurn = 4;
/// The number of chunks that are still read from a worker that has ended or exceeded its time
/// limit. The number covers the content of the worker's pipe, and limits the data that a child of
/// the driver may still be writing.
constexpr int kLastPieces = 16;

enum class Reading { Empty, Bytes, Closed };

/// Reads once. An error is treated as end-of-file, because no more data can follow.
template <class Take>
Reading read_chunk(int fd, Take take) {
    std::array<char, kChunk> chunk;
    ssize_t count = 0;
    do {
        count = ::read(fd, chunk.data(), chunk.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN)
        return Reading::Empty;
    if (count <= 0)
        return Reading::Closed;
    take(std::string_view{chunk.data(), static_cast<std::size_t>(count)});
    return Reading::Bytes;
}

}  // namespace

ProbeRun::ProbeRun(EventLoop& loop,
                   ProbeTarget target,
                   ProbePatience patience,
                   Slow slow,
                   Answered answered,
                   Ended ended)
    : loop_{loop},
      target_{std::move(target)},
      patience_{patience},
      slow_{std::move(slow)},
      answered_{std::move(answered)},
      ended_{std::move(ended)} {}

void ProbeRun::begin(Launcher& launcher) {
    launcher_ = &launcher;
    started_ = loop_.now();
    auto worker = launcher.launch(target_);
    if (!worker)
        return refuse("worker-not-started", worker.error().text);
    worker_ = *std::move(worker);
    if (watch_worker())
        return;
    worker_ = abandon();
    refuse("worker-not-started", "the event loop cannot watch more descriptors");
}

void ProbeRun::refuse(ReasonCode code, std::string_view problem) {
    started_ = loop_.now();
    const auto text = scrubbed(problem, kMaxProblem);
    // The call is deferred, because `ended` must not be called from within begin().
    refusal_ = loop_.defer([this, code, text] {
        ProbeResult result{.api = target_.api,
                           .driver = target_.driver,
                           .stage = target_.stage,
                           .device = target_.device,
                           .outcome = Outcome::Failed,
                           .note = text,
                           .reasons = {because(code, {{"problem", text}})}};
        end(std::move(result), abandon());
    });
}

std::unique_ptr<Worker> ProbeRun::abandon() {
    for (auto* source : {&frames_source_, &output_source_, &ended_source_, &deadline_, &warning_,
                         &refusal_, &grace_, &letting_go_})
        source->reset();
    return std::move(worker_);
}

bool ProbeRun::watch_worker() {
    using Priority = EventLoop::Priority;
    frames_source_ =
        loop_.watch(worker_->frames(), EPOLLIN, Priority::Worker, [this](auto) { on_frames(); });
    // Don't use Priority::Worker, because a driver that never stops printing would keep the
    // deadline's timer from running.
    if (worker_->output() >= 0)
        output_source_ = loop_.watch(worker_->output(), EPOLLIN, Priority::Normal,
                                     [this](auto) { on_output(); });
    if (worker_->ended() >= 0)
        ended_source_ =
            loop_.watch(worker_->ended(), EPOLLIN, Priority::Worker, [this](auto) { on_ended(); });
    deadline_ = loop_.after(patience_.limit, [this] { on_deadline(); });
    if (patience_.warn < patience_.limit)
        warning_ = loop_.after(patience_.warn, [this] { on_slow(); });
    return frames_source_ && deadline_ && (output_source_ || worker_->output() < 0) &&
           (ended_source_ || worker_->ended() < 0);
}

void ProbeRun::on_slow() {
    warning_.reset();
    if (!transcript_.is_complete())
        slow_(transcript_.phase());
}

void ProbeRun::on_frames() {
    const bool is_open = read_frames(kPiecesATurn);
    if (transcript_.is_malformed())
        return finish(Ending{});
    if (!is_open && !ended_source_)
        return on_ended();  // end-of-file is the only sign of the worker's end
    if (!is_open)
        frames_source_.reset();
    // Report each of the two events once: all devices are known, and the answer is complete.
    if (transcript_.is_known() && !transcript_.is_complete() && !std::exchange(is_known_, true))
        answered_(transcript_.so_far(target_), false);
    if (!transcript_.is_complete() || std::exchange(is_answered_, true))
        return;
    deadline_ = loop_.after(kStays + kGrace, [this] { on_deadline(); });
    answered_(transcript_.conclude(target_, Ending{}), true);
}

void ProbeRun::let_go() {
    if (grace_)
        return;
    grace_ = loop_.after(kGrace, [this] { finish(Ending{}); });
    // Don't end immediately: if the driver forged the answer, read the worker's own frames that
    // follow.
    letting_go_ = loop_.after(kLastWords, [this] {
        if (ended_source_) {
            frames_source_.reset();
            worker_->let_go();
        }
    });
}

bool ProbeRun::read_frames(int pieces) {
    for (; pieces > 0; --pieces) {
        const auto reading = read_chunk(worker_->frames(),
                                        [this](std::string_view bytes) { transcript_.add(bytes); });
        if (reading != Reading::Bytes || transcript_.is_malformed())
            return reading != Reading::Closed;
    }
    return true;
}

void ProbeRun::on_output() {
    if (!read_output())
        output_source_.reset();
}

bool ProbeRun::read_output() {
    return read_chunk(worker_->output(), [this](std::string_view bytes) { output_.add(bytes); }) !=
           Reading::Closed;
}

void ProbeRun::on_ended() {
    const auto exit = worker_->reap();
    if (!exit && ended_source_)
        return;
    // The launcher did not wait for the start. A second launch waits and reports the reason.
    if (exit && exit->never_ran) {
        (void)abandon();
        return begin(*launcher_);
    }
    // The pipe now contains everything that the worker wrote; later data is from other processes.
    (void)read_frames(kLastPieces);
    finish(Ending{.exit = exit});
}

/// Extends the deadline by the time that the worker has waited for a CPU since the last extension.
/// Returns false if this time is too short to matter.
bool ProbeRun::extends_deadline() {
    constexpr Duration kWorthIt = std::chrono::milliseconds{50};
    const auto waited = std::min(worker_->waited_for_processor(), patience_.limit);
    if (waited < extension_ + kWorthIt)
        return false;
    deadline_ = loop_.after(waited - std::exchange(extension_, waited), [this] { on_deadline(); });
    return true;
}

void ProbeRun::on_deadline() {
    // If this process was delayed, the answer may already be in the pipe.
    (void)read_frames(kLastPieces);
    const bool is_answered = transcript_.is_complete();
    if (!is_answered && extends_deadline())
        return;
    finish(Ending{.missed = is_answered ? std::nullopt : std::optional{patience_.limit}});
}

void ProbeRun::finish(const Ending& ending) {
    if (!ending.exit)
        worker_->kill();
    if (worker_->output() >= 0)
        (void)read_output();
    auto whole = ending;
    whole.output_lines = output_.lines();
    auto result = transcript_.conclude(target_, whole);
    // Stop watching before the worker is passed on: a descriptor can have only one watcher.
    auto worker = abandon();
    if (ending.exit)
        worker.reset();
    end(std::move(result), std::move(worker));
}

void ProbeRun::end(ProbeResult result, std::unique_ptr<Worker> worker) {
    const auto ended = std::move(ended_);  // the call may destroy this object
    ended(std::move(result), std::move(worker));
}

namespace {

/// If this many killed workers are still running, no more workers are started, because a driver
/// that hangs in the kernel would also hang the next worker.
constexpr std::size_t kMaxUnburied = 64;

/// The pause between two starts. A start blocks the event loop for a few milliseconds; during the
/// pause, the event loop handles the requests that have arrived in the meantime.
constexpr Duration kBetweenStarts = std::chrono::milliseconds{1};

/// How long the destructor waits for all killed workers together.
constexpr Duration kFarewell = std::chrono::milliseconds{100};

/// A queued probe.
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
    std::optional<Duration> answered_after = {};  ///< time from the start to the complete answer
    bool stays = false;                           ///< may keep its driver loaded after the answer
};

/// A killed worker that has not ended yet.
struct Unburied {
    ProbeTarget target = {};
    std::unique_ptr<Worker> worker = {};
    EventHandle ended = {};
    EventHandle patience = {};
    bool is_stuck = false;
};

/// Reaps the workers when they end. Gives up after `patience`.
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
    EventHandle turn = {};  ///< set during the pause before the next start

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

/// Kills all workers first and then waits for them together; otherwise each worker that is stuck in
/// the kernel would delay the end by the full waiting time. Does not wait for workers that have
/// answered, because their drivers take a long time to shut down.
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

/// The killed worker of an earlier probe of this target, if this worker has not ended.
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
    // The callbacks hold the iterator, which stays valid until ended() removes the entry.
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
        place->run->refuse("worker-not-started", "too many killed workers are still running");
    else
        place->run->begin(launcher);
}

/// Starts queued probes while there are free slots. A target whose killed worker has not ended yet
/// is skipped until that worker ends or counts as stuck. After a slow start, pauses so that the
/// event loop can handle other events.
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
        // Timers count from the start of the loop's current iteration, which was before begin().
        // Set the timer in the next iteration; otherwise the pause would already be over.
        if (loop.now() - started >= kBetweenStarts)
            turn = loop.defer([this] { turn = loop.after(kBetweenStarts, [this] { go_on(); }); });
    }
}

bool Supervisor::Impl::has_place() const {
    return running.size() < std::max<std::size_t>(limits.concurrent, 1);
}

/// Ends workers that have answered and should not stay. A worker may stay while a query is still
/// running or, if probes are queued, while a slot is free. Trials take a long time, so no worker
/// stays because of a trial. A probe without an `answered` callback never stays, because its caller
/// waits for the process.
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

/// Adds the times to the result. Time after the complete answer isn't included.
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
    // Remove the entry before go_on(), which then sees the free slot. The ProbeRun is destroyed
    // only after go_on(), because this function is its callback.
    std::list<Running> over;
    over.splice(over.end(), running, place);
    if (worker)
        bury(over.front().run->target(), std::move(worker));
    go_on();
    const auto done = std::move(over.front().done);
    over.clear();
    done(std::move(result));  // the call may destroy this object
}

/// Kills a worker, and waits in the background until the worker has ended.
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
        go_on();  // fails the queued probes of this target
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
    // During the pause, only free a slot; the timer will start the probe.
    if (impl_->turn)
        impl_->let_go_answered();
    else
        impl_->go_on();
}

bool Supervisor::idle() const {
    return impl_->running.empty() && impl_->waiting.empty();
}

}  // namespace gpuprobe::inline probe
