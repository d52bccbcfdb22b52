// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <limits>

#include <signal.h>
#include <sys/signalfd.h>
#include <systemd/sd-event.h>

#include "base/files.h"

namespace gpuprobe::inline base {
namespace {

using SdEvent = CHandle<sd_event, sd_event_unref>;
using SdSource = CHandle<sd_event_source, sd_event_source_disable_unref>;

/// The data of one registration, which sd-event passes to the C callbacks below. It lives as long
/// as its handle.
class Source final : public EventSource {
public:
    std::function<void(std::uint32_t)> ready = {};
    SdSource source = {};

    /// Runs a copy of the callable, because the callable may destroy this object.
    void run(std::uint32_t events) const {
        const auto call = ready;
        call(events);
    }
};

// Callbacks of sd-event. A negative return value would disable the source.
int on_io(sd_event_source*, int, std::uint32_t events, void* data) {
    static_cast<const Source*>(data)->run(events);
    return 0;
}
int on_time(sd_event_source*, std::uint64_t, void* data) {
    static_cast<const Source*>(data)->run(0);
    return 0;
}
int on_signal(sd_event_source*, const signalfd_siginfo*, void* data) {
    static_cast<const Source*>(data)->run(0);
    return 0;
}
int on_defer(sd_event_source*, void* data) {
    static_cast<const Source*>(data)->run(0);
    return 0;
}

/// The sd-event priority: smaller values run first.
std::int64_t order_of(EventLoop::Priority priority) {
    switch (priority) {
        case EventLoop::Priority::Hardware:
            return SD_EVENT_PRIORITY_NORMAL - 20;
        case EventLoop::Priority::Worker:
            return SD_EVENT_PRIORITY_NORMAL - 10;
        case EventLoop::Priority::Normal:
            return SD_EVENT_PRIORITY_NORMAL;
        case EventLoop::Priority::Idle:
            break;
    }
    return SD_EVENT_PRIORITY_IDLE;
}

}  // namespace

// Members are destroyed in reverse order: the sources before the loop.
struct SystemLoop::Impl {
    /// The loop of sd-event.
    SdEvent event = {};
    /// Sources for SIGTERM and SIGINT.
    SdSource terminate = {};
    SdSource interrupt = {};
    Source hangup = {};
};

SystemLoop::SystemLoop(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
SystemLoop::~SystemLoop() = default;

Result<std::unique_ptr<SystemLoop>> SystemLoop::create() {
    sd_event* event = nullptr;
    if (const int problem = sd_event_new(&event); problem < 0)
        return errno_error("event loop", -problem);
    auto impl = std::make_unique<Impl>();
    impl->event.reset(event);
    return std::unique_ptr<SystemLoop>{new SystemLoop{std::move(impl)}};
}

EventHandle SystemLoop::watch(int fd,
                              std::uint32_t events,
                              Priority priority,
                              std::function<void(std::uint32_t)> ready) {
    auto source = std::make_unique<Source>();
    source->ready = std::move(ready);
    sd_event_source* raw = nullptr;
    // On failure the caller gets no handle, and the callback never runs.
    if (sd_event_add_io(impl_->event.get(), &raw, fd, events, on_io, source.get()) < 0)
        return nullptr;
    source->source.reset(raw);
    sd_event_source_set_priority(raw, order_of(priority));
    return source;
}

EventHandle SystemLoop::after(Duration delay, Callback due) {
    auto source = std::make_unique<Source>();
    source->ready = [due = std::move(due)](std::uint32_t) { due(); };
    sd_event_source* raw = nullptr;
    // A delay in the past is due at once.
    const auto wait = static_cast<std::uint64_t>(std::max<Duration::rep>(delay.count(), 0));
    if (sd_event_add_time_relative(impl_->event.get(), &raw, CLOCK_MONOTONIC, wait,
                                   /*accuracy=*/1000, on_time, source.get()) < 0)
        return nullptr;
    source->source.reset(raw);
    // Timers run before workers: otherwise a worker that never stops writing could starve a
    // deadline.
    sd_event_source_set_priority(raw, order_of(Priority::Worker) - 1);
    return source;
}

EventHandle SystemLoop::defer(Callback next) {
    auto source = std::make_unique<Source>();
    source->ready = [next = std::move(next)](std::uint32_t) { next(); };
    sd_event_source* raw = nullptr;
    if (sd_event_add_defer(impl_->event.get(), &raw, on_defer, source.get()) < 0)
        return nullptr;
    source->source.reset(raw);
    return source;
}

MonotonicTime SystemLoop::now() const {
    return SystemClock{}.monotonic();
}

Result<int> SystemLoop::run() {
    // The code given to sd_event_exit(), or a negative errno value.
    const int code = sd_event_loop(impl_->event.get());
    if (code < 0)
        return errno_error("event loop", -code);
    return code;
}

Status SystemLoop::run_until(const std::function<bool()>& done) {
    while (!done()) {
        const int turned =
            sd_event_run(impl_->event.get(), std::numeric_limits<std::uint64_t>::max());
        if (turned < 0)
            return errno_error("event loop", -turned);
    }
    return gpuprobe::Done{};
}

void SystemLoop::stop(int code) {
    sd_event_exit(impl_->event.get(), code);
}

Status SystemLoop::stop_on_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return errno_error("sigprocmask", errno);
    // The signals must be blocked before sd-event can receive them through a signalfd.
    const auto add = [this](int signal, SdSource& into) {
        sd_event_source* raw = nullptr;
        // Without a callback, sd-event exits the loop with the code in userdata: nullptr, that is
        // 0.
        const int added = sd_event_add_signal(impl_->event.get(), &raw, signal, nullptr, nullptr);
        into.reset(raw);
        return added;
    };
    if (const int added = add(SIGTERM, impl_->terminate); added < 0)
        return errno_error("SIGTERM", -added);
    if (const int added = add(SIGINT, impl_->interrupt); added < 0)
        return errno_error("SIGINT", -added);
    return gpuprobe::Done{};
}

Status SystemLoop::on_hangup(Callback hung_up) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return errno_error("sigprocmask", errno);
    impl_->hangup.ready = [call = std::move(hung_up)](std::uint32_t) { call(); };
    sd_event_source* raw = nullptr;
    const int added =
        sd_event_add_signal(impl_->event.get(), &raw, SIGHUP, on_signal, &impl_->hangup);
    impl_->hangup.source.reset(raw);
    if (added < 0)
        return errno_error("SIGHUP", -added);
    return gpuprobe::Done{};
}

}  // namespace gpuprobe::inline base
