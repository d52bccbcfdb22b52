// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/units.h"
#include "inventory/udev.h"

namespace gpuprobe::engine {

/// Decides when to scan the machine and when to probe its drivers while hardware events keep
/// arriving.
///
/// The drivers are probed when no event has arrived for the time `settle`, or when events have kept
/// arriving for four times as long. After each round of probes in the same series of events, the
/// waiting time without events is multiplied by four, and the longest waiting time by eight. So a
/// loose plug does not make the engine probe all drivers all the time. The machine is scanned
/// whenever no event has arrived for the time `settle`.
class Debounce {
public:
    /// The upper limits of the waiting time without events, and of the time between rounds. If
    /// `settle` is longer than one of these limits, `settle` is used instead.
    static constexpr Duration kLongestCalm = std::chrono::seconds{5};
    static constexpr Duration kLongestSettle = std::chrono::seconds{30};
    /// An event that arrives this long after the previous one starts a new series.
    static constexpr Duration kOver = std::chrono::seconds{10};

    explicit Debounce(Duration settle) : settle_{settle} {}

    void event(MonotonicTime now);
    /// When to probe the drivers if no further event arrives; nullopt if there was no event since
    /// the last round.
    [[nodiscard]] std::optional<MonotonicTime> due() const;
    /// When to scan if no further event arrives; nullopt if the scan has been done, or will be done
    /// at due().
    [[nodiscard]] std::optional<MonotonicTime> look_due() const;
    void looked() { is_seen_ = true; }
    void asked();

private:
    Duration settle_ = {};
    /// The time without events before drivers are probed.
    Duration calm_ = {};
    Duration window_ = {};                     ///< the longest wait after the first event
    bool is_seen_ = false;                     ///< whether a scan followed the last event
    std::optional<MonotonicTime> first_ = {};  ///< time of the first event since the last round
    std::optional<MonotonicTime> last_ = {};   ///< time of the last event
};

/// Listens for hardware events and calls back when the hardware has changed.
class HardwareWatch {
public:
    /// How long after an event the machine is scanned once more; if the machine has changed since
    /// the event, it is also probed. The kernel announces a removal before the device has left
    /// sysfs, and a busy machine may take a while.
    static constexpr Duration kLateLook = std::chrono::seconds{5};

    struct Callbacks {
        std::function<void()> seen;     ///< called to scan the machine again
        std::function<void()> settled;  ///< called to scan the machine and probe the drivers
    };
    HardwareWatch(EventLoop& loop, Duration settle, Callbacks callbacks);

    /// Starts listening to the kernel. Errors: the same as for HardwareMonitor::create().
    Status listen();
    /// Reports a hardware event. Debounce decides when the callbacks are called.
    void changed();

private:
    void wait();
    void act();

    EventLoop& loop_;
    Debounce debounce_;
    Callbacks callbacks_;
    EventHandle timer_ = {};
    EventHandle late_ = {};  ///< a timer that calls settled() again
    std::unique_ptr<HardwareMonitor> monitor_ = {};
};

/// Tracks whether the machine is about to sleep or has just woken up. No driver should be probed
/// while the machine is going to sleep, and drivers need more time directly after the machine
/// wakes.
class SystemSleep {
public:
    enum class State { Awake, GoingToSleep, JustWoke };
    /// If the end of a sleep isn't reported, the sleep is assumed to have ended when the machine
    /// has been awake for this time.
    static constexpr Duration kLongest = std::chrono::minutes{5};
    /// How long the state stays JustWoke after the machine has woken up.
    static constexpr Duration kWakesUp = std::chrono::minutes{1};

    SystemSleep(EventLoop& loop, const Clock& clock, std::function<void()> woke);

    [[nodiscard]] State state() const;
    [[nodiscard]] bool is_near() const { return state() == State::GoingToSleep; }
    void begin();
    /// Reports that the machine is awake again. Calls `woke` if begin() was called before.
    void end();

private:
    EventLoop& loop_;
    const Clock& clock_;
    std::function<void()> woke_;
    State state_ = State::Awake;
    MonotonicTime woke_at_ = {};  ///< the time of waking; valid while state_ is JustWoke
    EventHandle timer_ = {};      ///< a timer that runs while state_ is GoingToSleep
};

}  // namespace gpuprobe::engine
