// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"

namespace gpuprobe::inline base {

/// A registration with the event loop. Destroying an EventSource cancels the registration. A
/// callback may destroy its own EventSource.
class EventSource {
public:
    virtual ~EventSource() = default;
};
using EventHandle = std::unique_ptr<EventSource>;

/// A single-threaded event loop for descriptors and timers. Not thread-safe. Callbacks must not
/// throw.
class EventLoop {
public:
    /// The order in which event sources run if several are ready at the same time. Hardware events
    /// run before bus calls, so that a reply never shows a state that is older than an event that
    /// has already been received.
    enum class Priority { Hardware, Worker, Normal, Idle };
    using Callback = std::function<void()>;

    virtual ~EventLoop() = default;
    /// Runs `ready(revents)` whenever one of the epoll `events` is pending on `fd`. The caller
    /// keeps ownership of `fd`.
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

/// The event loop that all programs use, based on epoll(7).
class SystemLoop final : public EventLoop {
public:
    /// Errors: Internal if the kernel cannot create an epoll descriptor.
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
    /// Runs until `done` returns true. `done` is called after each event.
    Status run_until(const std::function<bool()>& done);
    void stop(int code);
    /// Ends run() with code 0 on SIGTERM and SIGINT. Blocks both signals, so that no other handler
    /// receives them.
    Status stop_on_signals();
    /// Runs `hung_up` on each SIGHUP. Blocks SIGHUP, so that no other handler receives it.
    Status on_hangup(Callback hung_up);

private:
    struct Impl;
    explicit SystemLoop(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Watches folders and reports when files with certain endings were written, moved or deleted.
class FolderWatch {
public:
    /// `changed` is called after changes, once there has been no further change for `settle`.
    /// Folders that do not exist when begin() is called aren't watched. Errors: Unavailable if
    /// inotify cannot be used.
    static Result<std::unique_ptr<FolderWatch>> begin(EventLoop& loop,
                                                      const std::vector<std::string>& folders,
                                                      std::vector<std::string> endings,
                                                      Duration settle,
                                                      std::function<void()> changed);

private:
    FolderWatch(EventLoop& loop,
                UniqueFd fd,
                std::vector<std::string> endings,
                Duration settle,
                std::function<void()> changed);
    void read_events();

    EventLoop& loop_;
    UniqueFd fd_;
    std::vector<std::string> endings_;
    Duration settle_;
    std::function<void()> changed_;
    EventHandle reading_ = {};
    EventHandle settling_ = {};
};

}  // namespace gpuprobe::inline base
