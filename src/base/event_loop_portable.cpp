// SPDX-License-Identifier: Apache-2.0

// The event loop on poll(2), for the single process of the portable program.

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/event_loop.h"
#include "base/files.h"

namespace gpuprobe::inline base {

// Callers pass epoll events; poll(2) uses the same values on Linux.
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR &&
              POLLHUP == EPOLLHUP && POLLPRI == EPOLLPRI);

namespace {

using Ready = std::function<void(std::uint32_t)>;

/// One registration: a descriptor to watch, or a timer if `fd` is -1.
struct Wait {
    int fd = -1;
    short events = 0;
    MonotonicTime due = {};
    int order = 0;  ///< smallest first
    Ready ready = {};
    bool is_over = false;  ///< the timer has fired; timers fire once
};
using Waits = std::vector<Wait*>;

/// Timers (kTimeOrder) run after hardware events and before workers: otherwise a worker that never
/// stops writing could starve a deadline.
int order_of(EventLoop::Priority priority) {
    return priority == EventLoop::Priority::Hardware ? 0 : static_cast<int>(priority) + 1;
}
constexpr int kTimeOrder = 1;

/// A registration that is in the list of waits as long as it lives.
class Source final : public EventSource {
public:
    Source(std::shared_ptr<Waits> waits, Wait wait)
        : waits_{std::move(waits)}, wait_{std::move(wait)} {
        waits_->push_back(&wait_);
    }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    ~Source() override { std::erase(*waits_, &wait_); }

private:
    std::shared_ptr<Waits> waits_;  // shared, because a handle may outlive the loop
    Wait wait_;
};

}  // namespace

struct SystemLoop::Impl {
    std::shared_ptr<Waits> waits = std::make_shared<Waits>();
    UniqueFd signals = {};
    EventHandle interrupted = {};
    std::optional<int> exit = {};  ///< the code given to stop()

    [[nodiscard]] EventHandle add(Wait wait) {
        return std::make_unique<Source>(waits, std::move(wait));
    }
    [[nodiscard]] int milliseconds_to_wait(MonotonicTime now) const;
    Status turn(MonotonicTime now);
};

/// Time until the earliest timer, rounded up to milliseconds; -1 if there is no timer. These are
/// the values that poll(2) takes as its timeout.
int SystemLoop::Impl::milliseconds_to_wait(MonotonicTime now) const {
    std::optional<MonotonicTime> first;
    for (const auto* wait : *waits)
        if (wait->fd < 0 && !wait->is_over && (!first || wait->due < *first))
            first = wait->due;
    if (!first)
        return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - now).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
}

/// Waits until something is ready, and runs the first ready callback in priority order.
Status SystemLoop::Impl::turn(MonotonicTime now) {
    // Timers have the descriptor -1, which poll(2) ignores. Indices of `polled` and `waits` are the
    // same.
    std::vector<pollfd> polled;
    for (const auto* wait : *waits)
        polled.push_back({.fd = wait->fd, .events = wait->events, .revents = 0});
    const int count = ::poll(polled.data(), polled.size(), milliseconds_to_wait(now));
    if (count < 0 && errno == EINTR)
        return gpuprobe::Done{};
    if (count < 0)
        return errno_error("event loop", errno);
    // poll(2) may have waited.
    now = SystemClock{}.monotonic();
    Wait* next = nullptr;
    std::uint32_t events = 0;
    // Pick the ready source with the smallest order; in a tie, the one that has waited longest.
    for (std::size_t i = 0; i < polled.size(); ++i) {
        auto& wait = *(*waits)[i];
        const bool is_due = wait.fd < 0 && !wait.is_over && wait.due <= now;
        if ((polled[i].revents == 0 && !is_due) || (next && next->order <= wait.order))
            continue;
        next = &wait;
        events = static_cast<std::uint32_t>(polled[i].revents);
    }
    if (!next)
        return gpuprobe::Done{};
    next->is_over = next->fd < 0;
    // Move it to the end of the list, so that other sources of the same priority get their turn.
    std::erase(*waits, next);
    waits->push_back(next);
    const auto ready = next->ready;  // a copy, because the callback may destroy its source
    ready(events);
    return gpuprobe::Done{};
}

SystemLoop::SystemLoop(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
SystemLoop::~SystemLoop() = default;

Result<std::unique_ptr<SystemLoop>> SystemLoop::create() {
    return std::unique_ptr<SystemLoop>{new SystemLoop{std::make_unique<Impl>()}};
}

EventHandle SystemLoop::watch(int fd, std::uint32_t events, Priority priority, Ready ready) {
    return impl_->add({.fd = fd,
                       .events = static_cast<short>(events),
                       .order = order_of(priority),
                       .ready = std::move(ready)});
}

EventHandle SystemLoop::after(Duration delay, Callback due) {
    return impl_->add({.due = now() + std::max(delay, Duration::zero()),
                       .order = kTimeOrder,
                       .ready = [due = std::move(due)](std::uint32_t) { due(); }});
}

EventHandle SystemLoop::defer(Callback next) {
    return impl_->add({.due = now(),
                       .order = order_of(Priority::Normal),
                       .ready = [next = std::move(next)](std::uint32_t) { next(); }});
}

MonotonicTime SystemLoop::now() const {
    return SystemClock{}.monotonic();
}

Result<int> SystemLoop::run() {
    while (!impl_->exit)
        TRY(impl_->turn(now()));
    return *impl_->exit;
}

Status SystemLoop::run_until(const std::function<bool()>& done) {
    while (!done()) {
        // stop() was called: the condition will not become true any more.
        if (impl_->exit)
            return errno_error("event loop", ESTALE);
        TRY(impl_->turn(now()));
    }
    return gpuprobe::Done{};
}

void SystemLoop::stop(int code) {
    impl_->exit = code;
}

Status SystemLoop::stop_on_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0)
        return errno_error("sigprocmask", errno);
    // Read as a descriptor, so that a signal is handled between callbacks like any other event.
    impl_->signals = UniqueFd{::signalfd(-1, &signals, SFD_CLOEXEC)};
    if (!impl_->signals)
        return errno_error("signalfd", errno);
    impl_->interrupted = watch(impl_->signals.get(), EPOLLIN, Priority::Hardware,
                               [this](std::uint32_t) { stop(0); });
    return gpuprobe::Done{};
}

/// Only the daemon uses this function, and the portable program does not contain it.
Status SystemLoop::on_hangup(Callback) {
    return Error{ErrorCode::Internal, "SIGHUP: not in the portable program"};
}

}  // namespace gpuprobe::inline base
