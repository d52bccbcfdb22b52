// SPDX-License-Identifier: Apache-2.0
#include "probe/probe_run.h"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include "base/text.h"

namespace gpuprobe::inline probe {
namespace {

/// How long a process may take to exit after its answer; a driver needs time to free its memory.
constexpr Duration kGrace = std::chrono::milliseconds{500};
/// How long frames are still read after a complete answer. If a driver forged that answer, the
/// worker's own frames follow and reveal it.
constexpr Duration kLastWords = std::chrono::milliseconds{5};
constexpr std::size_t kChunk = 65536;  // a pipe's capacity, pipe(7)
constexpr std::size_t kMaxProblem = 512;
/// Maximum number of chunks to read before other events are handled: 256 KiB take less than a
/// millisecond to parse, and a complete stream may have 8 MiB.
constexpr int kPiecesATurn = 4;
/// Number of chunks still read from a worker that has ended or is out of time. This covers the
/// content of its pipe and bounds the data that a child of the driver may still be writing.
constexpr int kLastPieces = 16;

enum class Reading { Empty, Bytes, Closed };

/// Reads once. An error counts as end-of-file, because no more data can follow.
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
    refuse("worker-not-started", "the event loop takes no more descriptors");
}

void ProbeRun::refuse(ReasonCode code, std::string_view problem) {
    started_ = loop_.now();
    const auto text = scrubbed(problem, kMaxProblem);
    // Deferred, because `ended` must not be called from within begin().
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
    // Not Priority::Worker: a driver that never stops printing would starve the deadline's timer.
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
    // Report each of the two stages once: all devices known, then the answer complete.
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
    // Not at once: if the driver forged the answer, read the worker's own frames that follow.
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
/// False if that is too little to matter.
bool ProbeRun::extends_deadline() {
    constexpr Duration kWorthIt = std::chrono::milliseconds{50};
    const auto waited = std::min(worker_->waited_for_processor(), patience_.limit);
    if (waited < extension_ + kWorthIt)
        return false;
    deadline_ = loop_.after(waited - std::exchange(extension_, waited), [this] { on_deadline(); });
    return true;
}

void ProbeRun::on_deadline() {
    // The answer may be in the pipe already if this process was late.
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
    const auto ended = std::move(ended_);  // the call may destroy this
    ended(std::move(result), std::move(worker));
}

}  // namespace gpuprobe::inline probe
