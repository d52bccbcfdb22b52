// SPDX-License-Identifier: Apache-2.0
#include "engine/system_events.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::engine {

void Debounce::event(MonotonicTime now) {
    // A new series of events starts again with the short waiting times.
    if (!last_ || now - *last_ > kOver) {
        calm_ = settle_;
        window_ = 4 * settle_;
    }
    last_ = now;
    is_seen_ = false;
    if (!first_)
        first_ = now;
}

/// The end of the quiet time after the last event, but no later than the end of the window after
/// the first event.
std::optional<MonotonicTime> Debounce::due() const {
    if (!first_)
        return std::nullopt;
    return std::min(*last_ + std::max(settle_, std::min(calm_, kLongestCalm)),
                    *first_ + std::max(settle_, std::min(window_, kLongestSettle)));
}

/// A separate scan makes sense only before due(), because a round of probes also scans.
std::optional<MonotonicTime> Debounce::look_due() const {
    if (!first_ || is_seen_ || *last_ + settle_ >= due())
        return std::nullopt;
    return *last_ + settle_;
}

/// Increases the waiting times, because each further round in the same series of events waits
/// longer.
void Debounce::asked() {
    first_.reset();
    calm_ = std::min(4 * calm_, kLongestCalm);
    window_ = std::min(8 * window_, kLongestSettle);
}

HardwareWatch::HardwareWatch(EventLoop& loop, Duration settle, Callbacks callbacks)
    : loop_{loop}, debounce_{settle}, callbacks_{std::move(callbacks)} {}

Status HardwareWatch::listen() {
    monitor_ = TRY(HardwareMonitor::create(loop_, [this] { changed(); }));
    return Done{};
}

void HardwareWatch::changed() {
    debounce_.event(loop_.now());
    late_.reset();
    if (!timer_)
        wait();
}

/// Sets the timer for the next action. changed() does not move a timer that is running, because
/// setting it at each event would cost more than the events themselves; act() checks the times
/// again.
void HardwareWatch::wait() {
    timer_.reset();
    const auto due = debounce_.due();
    if (!due)
        return;
    const auto next = debounce_.look_due().value_or(*due);
    timer_ = loop_.after(std::max(next - loop_.now(), Duration::zero()), [this] { act(); });
}

/// Called when the timer has ended. Later events may have postponed both the scan and the probes,
/// so that nothing is due yet.
void HardwareWatch::act() {
    timer_.reset();
    const auto now = loop_.now();
    if (debounce_.due() <= now) {
        debounce_.asked();
        late_ = loop_.after(kLateLook, [this] { callbacks_.settled(); });
        callbacks_.settled();
        return;
    }
    if (const auto look = debounce_.look_due(); look && *look <= now) {
        debounce_.looked();
        callbacks_.seen();
    }
    wait();
}

SystemSleep::SystemSleep(EventLoop& loop, const Clock& clock, std::function<void()> woke)
    : loop_{loop}, clock_{clock}, woke_{std::move(woke)} {}

/// The state JustWoke ends after a fixed time, without a timer.
SystemSleep::State SystemSleep::state() const {
    const bool has_passed = state_ == State::JustWoke && clock_.monotonic() - woke_at_ >= kWakesUp;
    return has_passed ? State::Awake : state_;
}

/// The timer ends the state GoingToSleep if the end of the sleep is never reported. The loop's
/// clock stops while the machine sleeps.
void SystemSleep::begin() {
    if (is_near())
        return;
    state_ = State::GoingToSleep;
    timer_ = loop_.after(kLongest, [this] { end(); });
}

void SystemSleep::end() {
    if (!is_near())
        return;
    state_ = State::JustWoke;
    woke_at_ = clock_.monotonic();
    timer_.reset();
    woke_();
}

}  // namespace gpuprobe::engine
