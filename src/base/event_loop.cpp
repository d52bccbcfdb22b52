// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::inline base {
namespace {

using Ready = std::function<void(std::uint32_t)>;

/// Event sources with a smaller order run first. Timers (kTimerOrder) run after hardware events and
/// before workers: otherwise a worker that never stops writing could delay a deadline forever.
int order_of(EventLoop::Priority priority) {
    return priority == EventLoop::Priority::Hardware ? 0 : static_cast<int>(priority) + 1;
}
constexpr int kTimerOrder = 1;

class Source;

/// Everything that a loop waits for.
struct Registry {
    UniqueFd epoll = {};
    std::vector<Source*> descriptors = {};
    std::vector<Source*> timers = {};  ///< timers that have not fired
};

/// One registration, which lasts as long as its handle: a descriptor to watch, or a timer.
class Source final : public EventSource {
public:
    Source(std::shared_ptr<Registry> registry, int order, MonotonicTime since, Ready ready)
        : registry_{std::move(registry)}, order_{order}, since_{since}, ready_{std::move(ready)} {}
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    ~Source() override {
        std::erase(registry_->timers, this);
        // If the descriptor was closed, the kernel has already removed it.
        if (std::erase(registry_->descriptors, this) > 0)
            (void)::epoll_ctl(registry_->epoll.get(), EPOLL_CTL_DEL, fd_, nullptr);
    }

    void start_timer() { registry_->timers.push_back(this); }
    /// Returns false if the kernel rejects the descriptor, for example if it is already watched.
    [[nodiscard]] bool watch(int fd, std::uint32_t events) {
        epoll_event event{.events = events, .data = {.ptr = this}};
        if (::epoll_ctl(registry_->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
            return false;
        fd_ = fd;
        registry_->descriptors.push_back(this);
        return true;
    }
    [[nodiscard]] MonotonicTime since() const { return since_; }
    /// Whether this source runs before `other` when both are ready. Among sources with the same
    /// order, the source that has waited longest comes first.
    [[nodiscard]] bool precedes(const Source& other) const {
        return std::tie(order_, since_) < std::tie(other.order_, other.since_);
    }
    /// Each timer runs once.
    void run(std::uint32_t events, MonotonicTime now) {
        since_ = now;
        std::erase(registry_->timers, this);
        const auto ready = ready_;  // a copy, because the callback may destroy this source
        ready(events);
    }

private:
    std::shared_ptr<Registry> registry_;  // shared, because a handle may outlive the loop
    int fd_ = -1;
    int order_;
    /// The time when a timer is due, or when a descriptor was registered or last served.
    MonotonicTime since_;
    Ready ready_;
};

/// Time until the first timer, in the milliseconds that epoll_wait(2) accepts, rounded up; -1 if
/// there is no timer.
int milliseconds_to_wait(const std::vector<Source*>& timers) {
    if (timers.empty())
        return -1;
    const auto first = std::ranges::min(timers, {}, &Source::since)->since();
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(first - SystemClock{}.monotonic()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

struct SystemLoop::Impl {
    std::shared_ptr<Registry> registry = std::make_shared<Registry>();
    std::vector<epoll_event> reported = {};  ///< the buffer of turn()
    UniqueFd stop_signals = {};
    UniqueFd hangup = {};
    EventHandle on_stop = {};
    EventHandle on_hangup = {};
    std::optional<int> exit = {};  ///< the code given to stop()

    [[nodiscard]] EventHandle timer(Duration delay, int order, Callback due) const {
        auto source = std::make_unique<Source>(
            registry, order, SystemClock{}.monotonic() + std::max(delay, Duration::zero()),
            [due = std::move(due)](std::uint32_t) { due(); });
        source->start_timer();
        return source;
    }
    Status turn();
};

/// Waits until a source is ready, and runs the first one.
Status SystemLoop::Impl::turn() {
    // Make the buffer large enough for all descriptors, so that the descriptor that must run first
    // is reported.
    reported.resize(registry->descriptors.size() + 1);
    const int count =
        ::epoll_wait(registry->epoll.get(), reported.data(), static_cast<int>(reported.size()),
                     milliseconds_to_wait(registry->timers));
    if (count < 0 && errno != EINTR)
        return errno_error("event loop", errno);
    const auto now = SystemClock{}.monotonic();
    Source* next = nullptr;
    std::uint32_t events = 0;
    for (const auto& event :
         std::span{reported}.first(static_cast<std::size_t>(std::max(count, 0)))) {
        auto* source = static_cast<Source*>(event.data.ptr);
        if (next && !source->precedes(*next))
            continue;
        next = source;
        events = event.events;
    }
    for (auto* timer : registry->timers)
        if (timer->since() <= now && (!next || timer->precedes(*next)))
            next = timer;
    if (next)
        next->run(events, now);
    return gpuprobe::Done{};
}

SystemLoop::SystemLoop(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
SystemLoop::~SystemLoop() = default;

Result<std::unique_ptr<SystemLoop>> SystemLoop::create() {
    auto impl = std::make_unique<Impl>();
    impl->registry->epoll.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!impl->registry->epoll)
        return errno_error("event loop", errno);
    return std::unique_ptr<SystemLoop>{new SystemLoop{std::move(impl)}};
}

EventHandle SystemLoop::watch(int fd, std::uint32_t events, Priority priority, Ready ready) {
    auto source =
        std::make_unique<Source>(impl_->registry, order_of(priority), now(), std::move(ready));
    // On failure the caller gets no handle, and the callback never runs.
    return source->watch(fd, events) ? std::move(source) : nullptr;
}

EventHandle SystemLoop::after(Duration delay, Callback due) {
    return impl_->timer(delay, kTimerOrder, std::move(due));
}

EventHandle SystemLoop::defer(Callback next) {
    return impl_->timer(Duration::zero(), order_of(Priority::Normal), std::move(next));
}

MonotonicTime SystemLoop::now() const {
    return SystemClock{}.monotonic();
}

Result<int> SystemLoop::run() {
    while (!impl_->exit)
        TRY(impl_->turn());
    return *impl_->exit;
}

Status SystemLoop::run_until(const std::function<bool()>& done) {
    while (!done()) {
        // stop() was called, so the condition will no longer become true.
        if (impl_->exit)
            return errno_error("event loop", ESTALE);
        TRY(impl_->turn());
    }
    return gpuprobe::Done{};
}

void SystemLoop::stop(int code) {
    impl_->exit = code;
}

/// Blocks the signals and returns a descriptor that reports them, so that they are handled between
/// callbacks like any other event. Errors: Io.
static Result<UniqueFd> signals_of(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals)
        sigaddset(&set, signal);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        return errno_error("sigprocmask", errno);
    UniqueFd fd{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (!fd)
        return errno_error("signalfd", errno);
    return fd;
}

Status SystemLoop::stop_on_signals() {
    impl_->stop_signals = TRY(signals_of({SIGTERM, SIGINT}));
    impl_->on_stop = watch(impl_->stop_signals.get(), EPOLLIN, Priority::Hardware,
                           [this](std::uint32_t) { stop(0); });
    return gpuprobe::Done{};
}

Status SystemLoop::on_hangup(Callback hung_up) {
    impl_->hangup = TRY(signals_of({SIGHUP}));
    impl_->on_hangup =
        watch(impl_->hangup.get(), EPOLLIN, Priority::Hardware,
              [fd = impl_->hangup.get(), hung_up = std::move(hung_up)](std::uint32_t) {
                  // The kernel merges equal signals that weren't read yet.
                  signalfd_siginfo info = {};
                  if (::read(fd, &info, sizeof info) > 0)
                      hung_up();
              });
    return gpuprobe::Done{};
}

// FolderWatch -------------------------------------------------------------------------------------

namespace {

/// A file counts as written when it is closed, so that readers never see a half-written file.
constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

}  // namespace

FolderWatch::FolderWatch(EventLoop& loop,
                         UniqueFd fd,
                         std::vector<std::string> endings,
                         Duration settle,
                         std::function<void()> changed)
    : loop_{loop},
      fd_{std::move(fd)},
      endings_{std::move(endings)},
      settle_{settle},
      changed_{std::move(changed)} {
    reading_ = loop_.watch(fd_.get(), EPOLLIN, EventLoop::Priority::Idle,
                           [this](std::uint32_t) { read_events(); });
}

Result<std::unique_ptr<FolderWatch>> FolderWatch::begin(EventLoop& loop,
                                                        const std::vector<std::string>& folders,
                                                        std::vector<std::string> endings,
                                                        Duration settle,
                                                        std::function<void()> changed) {
    UniqueFd fd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (!fd)
        return Error{ErrorCode::Unavailable, errno_error("inotify", errno).text};
    // Missing folders are expected: most administrators add no data files.
    for (const auto& folder : folders)
        (void)::inotify_add_watch(fd.get(), folder.c_str(), kEvents);
    return std::unique_ptr<FolderWatch>{
        new FolderWatch{loop, std::move(fd), std::move(endings), settle, std::move(changed)}};
}

void FolderWatch::read_events() {
    char buffer[16384];
    bool is_news = false;
    for (;;) {
        const auto count = ::read(fd_.get(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        std::string_view rest{buffer, static_cast<std::size_t>(count)};
        // Each event is followed by a name, padded with NUL to `len` bytes. See inotify(7).
        while (rest.size() >= sizeof(inotify_event)) {
            inotify_event event = {};
            std::memcpy(&event, rest.data(), sizeof event);
            rest.remove_prefix(sizeof event);
            const auto padded = rest.substr(0, event.len);
            rest.remove_prefix(padded.size());
            const auto name = padded.substr(0, padded.find('\0'));
            // After a queue overflow, events were lost, so assume a change.
            is_news = is_news || (event.mask & IN_Q_OVERFLOW) != 0 ||
                      std::ranges::any_of(endings_, [name](const std::string& ending) {
                          return name.ends_with(ending);
                      });
        }
    }
    if (is_news)
        // Replace a running timer, so that a series of changes is reported once.
        settling_ = loop_.after(settle_, [this] { changed_(); });
}

}  // namespace gpuprobe::inline base
