// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "inventory/hardware_monitor.h"

namespace gpuprobe::engine {

/// Decides when to look at the machine, and when to ask its drivers, while hardware events keep
/// coming.
///
/// A series of events is followed by a round of questions once no event has come for `settle`, or
/// once the series has lasted four times that long. Each further round in the same series waits for
/// four times the calm, and at most eight times as long in all: a loose plug makes the engine ask
/// all drivers only now and then. What is there, and what is gone, is looked at whenever no event
/// has come for `settle`.
class Debounce {
public:
    /// The longest calm to wait for, and the longest time without a round. A longer `settle` takes
    /// their place.
    static constexpr Duration kLongestCalm = std::chrono::seconds{5};
    static constexpr Duration kLongestSettle = std::chrono::seconds{30};
    /// An event that comes this long after the previous one starts another series.
    static constexpr Duration kOver = std::chrono::seconds{10};

    explicit Debounce(Duration settle) : settle_{settle} {}

    void event(MonotonicTime now);
    /// When to ask if no further event comes; nullopt when there was no event since the last round.
    [[nodiscard]] std::optional<MonotonicTime> due() const;
    /// When to look if no further event comes; nullopt when that was done, or is due with due().
    [[nodiscard]] std::optional<MonotonicTime> look_due() const;
    void looked() { is_seen_ = true; }
    void asked();

private:
    Duration settle_ = {};
    Duration calm_ = {};                       ///< time without an event to wait for
    Duration window_ = {};                     ///< longest wait from the first event on
    bool is_seen_ = false;                     ///< what the last event left
    std::optional<MonotonicTime> first_ = {};  ///< since the last round
    std::optional<MonotonicTime> last_ = {};
};

/// Calls back when the hardware has changed.
class HardwareWatch {
public:
    struct Callbacks {
        std::function<void()> seen;     ///< to look again at what is there
        std::function<void()> settled;  ///< to ask the drivers, too
    };
    HardwareWatch(EventLoop& loop, Duration settle, Callbacks callbacks);

    /// Starts listening to the kernel. Errors: those of HardwareMonitor::create().
    Status listen();
    /// Something has changed: calls back as Debounce says.
    void changed();

private:
    void wait();
    void act();

    EventLoop& loop_;
    Debounce debounce_;
    Callbacks callbacks_;
    EventHandle timer_ = {};
    std::unique_ptr<HardwareMonitor> monitor_ = {};
};

/// Whether the machine is about to sleep, or has just woken up. No driver should be asked while it
/// goes to sleep, and drivers need more time right after that.
class SystemSleep {
public:
    enum class State { Awake, GoingToSleep, JustWoke };
    /// If nobody reports the end of the sleep, it ends after this much time awake.
    static constexpr Duration kLongest = std::chrono::minutes{5};
    /// How long the machine counts as just woken up.
    static constexpr Duration kWakesUp = std::chrono::minutes{1};

    SystemSleep(EventLoop& loop, const Clock& clock, std::function<void()> woke);

    [[nodiscard]] State state() const;
    [[nodiscard]] bool is_near() const { return state() == State::GoingToSleep; }
    void begin();
    /// Calls back, but only if begin() came before.
    void end();

private:
    EventLoop& loop_;
    const Clock& clock_;
    std::function<void()> woke_;
    State state_ = State::Awake;
    MonotonicTime woke_at_ = {};  ///< while state_ is JustWoke
    EventHandle timer_ = {};      ///< while state_ is GoingToSleep
};

}  // namespace gpuprobe::engine
