// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"

namespace gpuprobe::inline base {

/// Something watched or waited for; it ends when this is destroyed, also from within its own
/// callback.
class EventSource {
public:
    virtual ~EventSource() = default;
};
using EventHandle = std::unique_ptr<EventSource>;

/// One thread's wait for descriptors and time. Not thread-safe; callbacks must not throw.
class EventLoop {
public:
    /// Sources that are ready together run in this order: hardware events before bus calls, so that
    /// an answer never shows a state older than an event already received.
    enum class Priority { Hardware, Worker, Normal, Idle };
    using Callback = std::function<void()>;

    virtual ~EventLoop() = default;
    /// Runs `ready(revents)` whenever one of the epoll `events` holds for `fd`, which stays the
    /// caller's.
    [[nodiscard]] virtual EventHandle watch(int fd,
                                            std::uint32_t events,
                                            Priority priority,
                                            std::function<void(std::uint32_t)> ready) = 0;
    /// Runs `due` once, `delay` from now.
    [[nodiscard]] virtual EventHandle after(Duration delay, Callback due) = 0;
    /// Runs `next` once, after the current callback.
    [[nodiscard]] virtual EventHandle defer(Callback next) = 0;
    [[nodiscard]] virtual MonotonicTime now() const = 0;
};

/// The real loop, on sd-event.
class SystemLoop final : public EventLoop {
public:
    /// Errors: Internal, when the kernel gives no epoll descriptor.
    static Result<std::unique_ptr<SystemLoop>> create();
    ~SystemLoop() override;

    [[nodiscard]] EventHandle watch(int fd,
                                    std::uint32_t events,
                                    Priority priority,
                                    std::function<void(std::uint32_t)> ready) override;
    [[nodiscard]] EventHandle after(Duration delay, Callback due) override;
    [[nodiscard]] EventHandle defer(Callback next) override;
    [[nodiscard]] MonotonicTime now() const override;

    /// Runs until stop(). Returns the code given to stop().
    Result<int> run();
    /// Runs until `done` is true.
    Status run_until(const std::function<bool()>& done);
    void stop(int code);
    /// Ends run() with code 0 on SIGTERM and SIGINT, which it blocks.
    Status stop_on_signals();
    /// Runs `hung_up` on each SIGHUP, which it blocks.
    Status on_hangup(Callback hung_up);
    /// Answers systemd's watchdog while the loop turns, where the unit asks for it.
    Status feed_watchdog();

private:
    struct Impl;
    explicit SystemLoop(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::inline base
